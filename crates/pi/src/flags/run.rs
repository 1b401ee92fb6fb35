//! The command `pi run`.

use super::{Command, Flag, Group};

pub(super) const RUN: Command = Command::new("run", "Run a task unattended and check its result")
    .words("[TASK]", 0, 1)
    .details(
        "TASK is a task file (YAML or JSON) or the goal itself. The agent works until it says that it \
         is done; then pi makes the checks, and returns failures to the agent. The exit code is 0 \
         only if all checks pass.",
    )
    .examples(&["pi run task.yaml", "pi run \"Repair the tests\" --check \"cargo test\""])
    .flags(&[
        Flag::new("check", Group::General, "A command that has to succeed; repeatable")
            .takes("COMMAND"),
        Flag::new("resume", Group::General, "Continue a run: its id, or a part of it").takes("RUN"),
        Flag::new("approve", Group::General, "Pending actions to approve, such as 1,3, or all")
            .takes("NUMBERS"),
        Flag::new("reject", Group::General, "Pending actions to reject; a reason can follow")
            .takes("NUMBERS"),
        Flag::new("directory", Group::General, "Working directory of a run that is resumed")
            .takes("DIR"),
        Flag::new("list", Group::General, "List all runs"),
        Flag::new("model", Group::General, "The model, as with --model of pi").takes("PROVIDER/ID"),
    ]);
