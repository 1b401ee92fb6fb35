//! Checks that turn green although nothing that they read changed: they are flaky, or prove nothing.

use super::making::{CheckStep, Report, Subject};
use super::{Verifier, VerifyError};
use crate::contract::Check;
use crate::report::{CheckReport, Concern};

impl Verifier {
    /// Repeats the commands that failed before the run and pass now, although they use nothing that
    /// the run changed. One that fails again has failed; a person should look at the others.
    pub(super) async fn repeat(
        &mut self,
        name: &str,
        subject: &Subject<'_>,
        checks: &mut [CheckReport],
        report: Report<'_>,
    ) -> Result<Vec<Concern>, VerifyError> {
        let made = self.checks.iter().filter(|check| !matches!(check, Check::Review(_)));
        let mut repeated = Vec::new();
        for (number, (check, done)) in made.zip(checks).enumerate() {
            let Check::Command(command) = check else { continue };
            let is_new = done.passed && self.before.failed.contains(&command.command);
            if is_new {
                repeated.push((number, command.clone(), done));
            }
        }
        let mut concerns = Vec::new();
        if repeated.is_empty() {
            return Ok(concerns);
        }
        let room = self.room(subject.changes, subject.tampered)?;
        let shell = self.open_shell(&room)?;
        for (number, command, done) in repeated {
            let log = self.logs.join(format!("{name}-again-{}.log", number + 1));
            let tests = self.before.tests.get(&command.command).copied();
            let run = self.run(&shell, &room, &log, tests, false);
            let again = run.check(&command).await.map_err(VerifyError::Stopped)?.report;
            if again.passed {
                concerns.push(Concern::new(
                    None,
                    format!(
                        "`{}` failed before the run and passes now, although nothing \
                         that it uses changed: it is flaky, or depends on something else than the work",
                        again.name
                    ),
                ));
                continue;
            }
            *done = again;
            done.failures.insert(
                0,
                "flaky: it failed before the run, passed, and failed again, although nothing that it \
                 uses changed"
                    .to_owned(),
            );
            report(CheckStep::End(done));
        }
        Ok(concerns)
    }
}
