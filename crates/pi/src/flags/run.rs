//! The command `pi run`.

use super::{Command, Flag, Group};

pub(super) const RUN: Command = Command::new("run", "Run a task unattended and check its result")
    .words("TASK", 1, 1)
    .details(
        "TASK is a task file (YAML or JSON) or the goal itself. The agent works until it says that it \
         is done; then pi makes the checks, and returns failures to the agent. The exit code is 0 \
         only if all checks pass.",
    )
    .examples(&["pi run task.yaml", "pi run \"Repair the tests\" --check \"cargo test\""])
    .flags(&[
        Flag::new("check", Group::General, "A command that has to succeed; repeatable")
            .takes("COMMAND"),
        Flag::new("model", Group::General, "The model, as with --model of pi").takes("PROVIDER/ID"),
    ]);
