//! Doubts about checks that pass: what they wrote while they ran, what they ran without, and what
//! could reach them.

use std::collections::BTreeSet;
use std::path::Path;

use pi_coding_agent::{Room, RoomKind};

use super::before::Before;
use super::evidence::Used;
use super::inputs::Role;
use super::{Verifier, VerifyError, command, endings};
use crate::contract::Check;
use crate::report::{CheckReport, Concern};
use crate::workspace::Changes;

impl Verifier {
    /// Makes the first checks now, if the contract does not want them before the agent starts: what
    /// decides a check is not known otherwise.
    pub(super) async fn learn_late(
        &mut self,
        checks: &mut [CheckReport],
    ) -> Result<(), VerifyError> {
        let has_command = self.checks.iter().any(|check| matches!(check, Check::Command(_)));
        if !self.is_first_late || !has_command || self.before != Before::default() {
            return Ok(());
        }
        Box::pin(self.before(&|_| {})).await?;
        let commands = self.checks.iter().filter_map(|check| match check {
            Check::Command(command) => Some(command),
            _ => None,
        });
        let done = checks.iter_mut().filter(|check| check.kind == "command");
        for (command, done) in commands.zip(done) {
            let before = self.before.tests.get(&command.command).copied();
            command::compare_tests(command, done, before);
        }
        Ok(())
    }

    /// Returns the tests and expectations that the checks changed or wrote while they ran, unless
    /// those before the run did so, too: the code under test may have written them.
    pub(super) fn changed_by_checks(&self, last: &Used) -> Vec<Concern> {
        let first = &self.before.used;
        let decides = |path: &&String| {
            !self.before.written.contains(*path)
                && !self.roles.is_permitted(path)
                && (self.roles.of(path) == Some(Role::Test)
                    || first.is_compared(path, last, &self.roles))
        };
        let written = last.written.iter().filter(decides);
        let changed = written.map(|path| {
            let reason = "this file was written while the checks ran, by the checks or by the work";
            Concern::new(Some(path.clone()), reason)
        });
        let absent = last.absent.iter().map(|path| {
            let reason = "the checks read this file before the run, and pass without it; git \
                          ignores it, and the run changed or removed it";
            Concern::new(Some(path.clone()), reason)
        });
        changed.chain(absent).collect()
    }

    /// Returns remarks about new code that may deceive the checks that load it.
    pub(super) fn deceptions(&self, changes: &Changes, last: &Used) -> Vec<Concern> {
        let is_of_tests = |path: &str| {
            self.roles.of(path).is_some()
                || self.roles.is_permitted_by_task(path)
                || self.roles.is_configuration(path)
        };
        let is_loaded = |concern: &Concern| {
            last.problem.is_some() || concern.file.as_ref().is_none_or(|path| last.reads(path))
        };
        let mut concerns = endings::added(changes, &is_of_tests);
        concerns.retain(is_loaded);
        concerns
    }

    /// Returns a remark if nothing separates the checks from what the agent left.
    pub(super) fn no_clean_room(&self) -> Option<Concern> {
        let has_command = self.checks.iter().any(|check| matches!(check, Check::Command(_)));
        let is_open = has_command && Room::kind(&self.options) == RoomKind::Open;
        let reason = "the checks ran without a sandbox, so they could use what the agent left \
                      outside of the clean directory";
        is_open.then(|| Concern::new(None, reason))
    }

    /// Returns the ignored files of the user that the first commands read and that a room does not
    /// have: the run changed or removed them.
    pub(super) fn absent(&self, room: &Path) -> BTreeSet<String> {
        let used = &self.before.used;
        let read = used.read.iter().chain(&used.executed);
        let is_absent =
            |path: &&String| self.rooms.is_ignored_at_start(path) && !room.join(path).exists();
        read.filter(is_absent).cloned().collect()
    }
}
