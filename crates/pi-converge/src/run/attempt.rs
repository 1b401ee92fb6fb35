//! One attempt: a session that gets the goal, and the rounds of its verification.

use std::fmt::Write as _;

use pi_agent::Outcome as LoopOutcome;
use pi_coding_agent::session::{AgentSession, Disposition, PromptError, PromptOptions};
use pi_coding_agent::{AgentRuntime, create_agent_session};
use tokio::time::Instant;

use super::options::agent_options;
use super::{Ended, Progress, Running, ended};
use crate::contract::{Check, CommandCheck};
use crate::directory::Step;
use crate::outcome::Outcome;
use crate::report::{AttemptReport, CheckReport};
use crate::resume::Continuation;

impl Running {
    /// Makes one attempt.
    pub(super) async fn attempt(&mut self, number: u32) -> Ended {
        let mut options = match agent_options(&self.contract, &self.options.agent) {
            Ok(options) => options,
            Err(ended) => return ended,
        };
        options.budget = Some(self.budget.clone());
        if let Err(ended) = self.make_durable(&mut options, number) {
            return ended;
        }
        let runtime = match Box::pin(create_agent_session(options)).await {
            Ok(created) => created.runtime,
            Err(refused) => return Ended::from(&refused),
        };
        let session = runtime.session();
        let _journal = self.record_events(&session);
        let mut attempt = AttemptReport { number, ..AttemptReport::default() };
        let ended = self.rounds(&runtime, &session, &mut attempt).await;
        attempt.session = session.file();
        self.session_file.clone_from(&attempt.session);
        attempt.spent = self.budget.spent();
        attempt.spent.turns -= self.state.spent_before.turns;
        let failed = self.checks.iter().filter(|check| !check.passed);
        attempt.failed = failed.map(|check| check.name.clone()).collect();
        self.attempts.push(attempt);
        self.text = session.last_assistant_text();
        runtime.shut_down().await;
        ended
    }

    /// Prompts and verifies until all checks pass or no round is left.
    async fn rounds(
        &mut self,
        runtime: &AgentRuntime,
        session: &AgentSession,
        attempt: &mut AttemptReport,
    ) -> Ended {
        let mut prompt = self.contract.goal.clone();
        // A run that is resumed continues the round that it was in.
        attempt.rounds = self.state.round.saturating_sub(1);
        loop {
            attempt.rounds += 1;
            self.state.round = attempt.rounds;
            self.options.report_progress(&Progress::Round { number: attempt.rounds });
            if let Err(ended) = self.prompt(runtime, session, &prompt).await {
                return ended;
            }
            self.options.report_progress(&Progress::Verifying);
            self.verify(session).await;
            if let Some(outcome) = self.options.interrupt.outcome() {
                return Ended::new(outcome, "The run was interrupted.");
            }
            let failed: Vec<&CheckReport> =
                self.checks.iter().filter(|check| !check.passed).collect();
            if failed.is_empty() {
                return Ended::new(Outcome::Converged, "All checks passed.");
            }
            if attempt.rounds > self.contract.attempts.rounds() {
                let names: Vec<&str> = failed.iter().map(|check| check.name.as_str()).collect();
                let reason = format!("Checks failed: {}.", names.join(", "));
                return Ended::new(Outcome::FailedVerification, reason);
            }
            prompt = feedback(&failed);
        }
    }

    /// Submits a prompt, or continues one of an earlier process, and waits until the agent has
    /// ended.
    async fn prompt(
        &mut self,
        runtime: &AgentRuntime,
        session: &AgentSession,
        text: &str,
    ) -> Result<(), Ended> {
        let continuation = match self.resuming.take() {
            Some(recorded) => self.continuation(session, &recorded).await?,
            None => Continuation::Prompt,
        };
        if continuation == Continuation::Prompt {
            let after = session.with_log(|log| log.leaf_id().map(str::to_owned));
            self.state.step = Step::Agent { prompt: text.to_owned(), after };
        }
        self.save()?;
        let working = async {
            match continuation {
                Continuation::Verify => Ok(LoopOutcome::Completed),
                Continuation::Resume => Ok(Box::pin(session.resume().await?.finish()).await),
                Continuation::Prompt => {
                    match session.submit(text, PromptOptions::default().literal()).await? {
                        Disposition::Started(run) => Ok(Box::pin(run.finish()).await),
                        _ => Ok(LoopOutcome::Completed),
                    }
                }
            }
        };
        let outcome: Result<LoopOutcome, PromptError> = tokio::select! {
            outcome = working => outcome,
            () = self.options.interrupt.token().cancelled() => {
                runtime.shut_down().await;
                Ok(LoopOutcome::Aborted)
            }
        };
        if let Some(outcome) = self.options.interrupt.outcome() {
            return Err(Ended::new(outcome, "The run was interrupted."));
        }
        match outcome.map_err(Ended::from)? {
            LoopOutcome::Completed => {
                self.state.step = Step::Verify;
                self.save()
            }
            LoopOutcome::Suspended => Err(self.suspended(session)),
            LoopOutcome::Limit { limit } => Err(Ended::at_limit(limit)),
            LoopOutcome::Failed { error } => Err(ended::provider_failure(&error)),
            LoopOutcome::Repetition { repetition } => {
                Err(Ended::new(Outcome::Stuck, format!("The model repeats itself: {repetition}.")))
            }
            _ => Err(Ended::new(Outcome::Failed, "The agent was aborted.")),
        }
    }

    async fn verify(&mut self, session: &AgentSession) {
        self.checks.clear();
        for check in self.contract.verify.clone() {
            let Check::Command(command) = check else { continue };
            let report = run_check(session, &command, self.options.interrupt.token()).await;
            self.options.report_progress(&Progress::Checked(report.clone()));
            self.checks.push(report);
        }
    }
}

async fn run_check(
    session: &AgentSession,
    check: &CommandCheck,
    cancel: &pi_agent::CancelToken,
) -> CheckReport {
    let started = Instant::now();
    let (chunks, mut received) = tokio::sync::mpsc::channel(16);
    let draining = async { while received.recv().await.is_some() {} };
    let running = pi_tools::run_command(session.workspace(), &check.command, cancel, chunks);
    let (ended, ()) = tokio::join!(running, draining);
    let mut report = CheckReport {
        name: Check::Command(check.clone()).name(),
        kind: "command".to_owned(),
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        ..CheckReport::default()
    };
    match ended {
        Ok(result) => {
            report.passed = result.exit_code == Some(check.expect.exit);
            report.exit_code = result.exit_code;
            report.output = Some(session.redacted(&result.output).into_owned());
            if !report.passed {
                let code = result.exit_code.map_or("none".to_owned(), |code| code.to_string());
                let expected = check.expect.exit;
                report.failures.push(format!("exit code {code}, expected {expected}"));
            }
        }
        Err(error) => report.failures.push(error.message().to_owned()),
    }
    report
}

/// Returns the message that returns failed checks to the agent.
fn feedback(failed: &[&CheckReport]) -> String {
    let mut text = "The work is not complete: these checks failed. Fix the cause.\n".to_owned();
    for check in failed {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {}\n{}\n", check.name, check.failures.join("\n"));
        if let Some(output) = &check.output {
            let _ = write!(text, "\n```\n{}\n```\n", output.trim_end());
        }
    }
    text
}
