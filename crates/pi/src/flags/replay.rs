//! The command `pi replay`.

use super::commands::{JSON, MANY};
use super::safety::RULES;
use super::{Command, Flag, Group};

pub(super) const REPLAY: Command =
    Command::new("replay", "Replay recorded runs offline and report the first difference")
        .words("RECORDING", 1, MANY)
        .details(
            "RECORDING is the directory of a recording, or the id of a run that was recorded with \
             --record. The run is repeated with the present prompts, tools, settings and policy; \
             answers and tool results come from the recording. No request is sent, no tool is \
             executed and no file is changed. The exit code is 0 if every replay is identical, 1 \
             at a difference, and 2 if a recording cannot be used.",
        )
        .examples(&[
            "pi replay 20261116",
            "pi replay --all tests/recordings",
            "pi replay --all tests/recordings --rules new.toml",
            "pi replay tests/recordings/one --from 5 --live",
        ])
        .flags(&[
            Flag::new("all", Group::General, "Replay every recording below these directories")
                .short("a"),
            RULES,
            Flag::new("policy", Group::General, "The same as --rules").takes("FILE").files(),
            Flag::new("directory", Group::General, "Project to replay in, instead of the recorded")
                .takes("DIR")
                .directories(),
            Flag::new("from", Group::General, "Continue for real from this request on")
                .takes("NUMBER"),
            Flag::new("live", Group::General, "Confirm that requests are sent and tools are run"),
            JSON,
        ]);
