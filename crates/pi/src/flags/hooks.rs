//! The command `pi hooks`.

use super::commands::{APPROVE, JSON, NO_APPROVE};
use super::{Command, Flag, Group};

pub(super) const HOOKS: Command =
    Command::new("hooks", "List the hooks and guardrails of the settings; test hooks")
        .details(
            "Hooks are commands that run at events of a session. Those of a project are used only \
             if the project is trusted.",
        )
        .examples(&["pi hooks", "pi hooks test beforeTool --input call.json"])
        .commands(&[
            Command::new("list", "List the hooks and guardrails of this directory")
                .flags(&[JSON, APPROVE, NO_APPROVE]),
            Command::new("test", "Run the hooks of an event and show what they decide")
                .words("EVENT", 1, 1)
                .details(
                    "The hooks run for real. The input comes from a file and is completed with the \
                     event and the directory; for a tool call it has \"tool_name\" and \
                     \"tool_input\". The exit code is 0 if the hooks let the event pass, 16 if \
                     they block it or stop the run, 1 if a hook fails.",
                )
                .flags(&[
                    Flag::new("input", Group::General, "File with the JSON input")
                        .takes("FILE")
                        .files(),
                    Flag::new("matches", Group::General, "Tool, reason or agent for the matchers")
                        .takes("NAME")
                        .details("The default is the one in the input."),
                    APPROVE,
                    NO_APPROVE,
                ]),
        ])
        .default("list");
