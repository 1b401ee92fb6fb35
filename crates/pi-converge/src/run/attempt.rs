//! One attempt: a session that gets the goal, and the rounds of its verification.

use std::sync::Arc;

use pi_agent::Outcome as LoopOutcome;
use pi_coding_agent::session::{AgentSession, PromptOptions};
use pi_coding_agent::{AgentRuntime, create_agent_session};

use super::continuation::Continuation;
use super::options::agent_options;
use super::work::Verdict;
use super::{Ended, Progress, Running};
use crate::directory::Step;
use crate::outcome::Outcome;
use crate::report::AttemptReport;
use crate::stuck::Watch;
use crate::tape::Tape;
use crate::verify::{FeedbackProgress, Round, feedback, proves_nothing};

/// Concerns that the reason of an outcome names.
const CONCERNS: usize = 3;

impl Running {
    /// Makes one attempt.
    pub(super) async fn attempt(&mut self, number: u32) -> Ended {
        let mut options = match agent_options(&self.contract, &self.options.agent) {
            Ok(options) => options,
            Err(ended) => return ended,
        };
        options.budget = Some(self.budget.clone());
        options
            .extensions
            .own
            .extend(self.collector.as_ref().map(|collector| collector.extension()));
        if let Err(ended) = self.prepare(number, &mut options).await {
            return ended;
        }
        // After the checks have their options: a replay does not repeat their requests.
        options.tap = self.options.tape.tap();
        if let Err(ended) = self.make_durable(&mut options, number) {
            return ended;
        }
        let options = self.with_agent(options);
        let runtime = match Box::pin(create_agent_session(options)).await {
            Ok(created) => created.runtime,
            Err(refused) => return Ended::from(&refused),
        };
        let session = runtime.session();
        (self.options.on_session)(&runtime);
        self.note_surroundings(&runtime, &session);
        self.note_price(&session);
        let _journal = self.record_events(&session);
        let _interventions = self.interventions.collect(&session);
        let _refusals = self.refusals.collect(&session);
        let _facts = self.facts.collect(&session);
        self.watch = Watch::new(self.contract.stuck.clone(), self.options.tape.clone());
        if self.resuming.is_some() {
            self.watch.remember(&self.state.stuck);
        }
        let _watching = self.watch.subscribe(&session).await;
        let mut attempt = AttemptReport { number, ..AttemptReport::default() };
        let ended = self.rounds(&runtime, &session, &mut attempt).await;
        attempt.session = session.file();
        self.session_file.clone_from(&attempt.session);
        attempt.spent = self.budget.spent();
        attempt.spent.turns -= self.state.spent_before.turns;
        self.text = session.last_assistant_text();
        let cost = self.budget.spent().cost - self.state.spent_before.cost;
        attempt.diff_lines = self.attempt_ended(self.attempts.len(), &ended, cost);
        self.attempts.push(attempt);
        runtime.shut_down().await;
        ended
    }

    /// Records the settings and the workspace, or compares them with the recorded ones.
    fn note_surroundings(&self, runtime: &AgentRuntime, session: &AgentSession) {
        match &self.options.tape {
            Tape::Off => {}
            Tape::Record(recorder) => {
                recorder.observe("settings", &runtime.settings_values());
                recorder.observe("workspace", &session.workspace().cwd());
            }
            Tape::Replay(player) => player.compare_settings(&runtime.settings_values()),
        }
    }

    /// Prompts and verifies until all checks pass or no round is left.
    async fn rounds(
        &mut self,
        runtime: &AgentRuntime,
        session: &AgentSession,
        attempt: &mut AttemptReport,
    ) -> Ended {
        let mut prompt = self.goal_prompt();
        // A run that is resumed continues the round that it was in.
        attempt.rounds = self.state.round.saturating_sub(1);
        loop {
            attempt.rounds += 1;
            self.state.round = attempt.rounds;
            self.refusals.begin_round();
            self.options.report_progress(&Progress::RoundStart { number: attempt.rounds });
            let limit = match self.prompt(runtime, session, &prompt).await {
                Ok(()) => None,
                Err(ended) => match self.checked_limit(&ended) {
                    Some(limit) => Some(limit),
                    None => return ended,
                },
            };
            // Nothing of the agent runs while its work is checked.
            if let Some(background) = session.workspace().background() {
                background.stop_all().await;
            }
            self.options.report_progress(&Progress::VerificationStart);
            let round = Round { attempt: attempt.number, round: attempt.rounds, limit };
            let verdict = match Box::pin(self.verify(round)).await {
                Ok(verdict) => verdict,
                Err(ended) => return self.interrupted().unwrap_or(ended),
            };
            let failed = self.checks.iter().filter(|check| !check.passed);
            attempt.failed = failed.map(|check| check.name.clone()).collect();
            if let Some(ended) = self.interrupted() {
                return ended;
            }
            if let Some(limit) = limit {
                return self.ended_at_limit(limit, verdict);
            }
            let rounds = self.contract.attempts.rounds();
            match verdict {
                Verdict::Passed => return Ended::new(Outcome::Converged, self.converged()),
                Verdict::Doubtful => return self.needs_review(),
                // The agent was told, and insists.
                Verdict::PassedWithOwnTests { is_final } if is_final || attempt.rounds > rounds => {
                    return self.needs_review();
                }
                Verdict::PassedWithOwnTests { .. } | Verdict::Failed => {}
            }
            if attempt.rounds > rounds {
                return self
                    .refused(&self.failed())
                    .unwrap_or_else(|| Ended::new(Outcome::FailedVerification, self.failed()));
            }
            let note = match self.watch.round(&self.checks) {
                Ok(note) => note,
                Err(evidence) => {
                    let sentence = evidence.sentence();
                    let stuck = Ended::new(Outcome::Stuck, sentence.clone());
                    return self.refused(&sentence).unwrap_or(stuck);
                }
            };
            let work = FeedbackProgress {
                rounds_left: rounds - attempt.rounds,
                has_changes: self.work.has_changes,
            };
            prompt = feedback(&self.contract, &self.checks, work);
            if let Some(note) = note {
                prompt = format!("{prompt}\n{note}");
            }
            // They say nothing about what the agent does next.
            self.checks.clear();
        }
    }

    /// Returns the end of the run if it was interrupted.
    pub(super) fn interrupted(&self) -> Option<Ended> {
        let outcome = self.options.interrupt.outcome()?;
        Some(Ended::new(outcome, "The run was interrupted."))
    }

    /// Returns the end of a run whose last round needed an action that the policy refused.
    fn refused(&self, failure: &str) -> Option<Ended> {
        let refused = self.refusals.last()?;
        Some(Ended::new(Outcome::Forbidden, format!("{refused} {failure}")))
    }

    /// Describes the success.
    pub(super) fn converged(&self) -> String {
        let count = self.checks.len();
        match count {
            0 => "The agent has ended. The task has no checks, so nothing was verified.".to_owned(),
            _ if proves_nothing(&self.contract, &self.state.before) => format!(
                "All {count} checks passed, but they passed before the run, too: they prove nothing."
            ),
            1 => "The check passed.".to_owned(),
            _ => format!("All {count} checks passed."),
        }
    }

    /// Returns the end of a run whose checks pass and at which a person should look, unless the
    /// contract accepts it without.
    pub(super) fn needs_review(&self) -> Ended {
        let reasons = self.work.concerns.iter().take(CONCERNS).map(|concern| match &concern.file {
            Some(file) => format!("{file}: {}", concern.reason),
            None => concern.reason.clone(),
        });
        let mut reasons = reasons.collect::<Vec<_>>().join("; ");
        let more = self.work.concerns.len().saturating_sub(CONCERNS);
        if more > 0 {
            reasons.push_str(&format!("; and {more} more"));
        }
        match self.contract.accept_review {
            true => {
                Ended::new(Outcome::Converged, format!("Accepted without a review: {reasons}."))
            }
            false => Ended::new(Outcome::NeedsReview, format!("Look at the result: {reasons}.")),
        }
    }

    /// Describes the failed checks.
    pub(super) fn failed(&self) -> String {
        let failed = self.checks.iter().filter(|check| check.failed());
        let failed: Vec<String> = failed
            .map(|check| match (check.failures.first(), check.denied.first()) {
                (Some(failure), Some(denied)) => format!("{}: {failure}, and {denied}", check.name),
                (Some(failure), None) => format!("{}: {failure}", check.name),
                (None, _) => check.name.clone(),
            })
            .collect();
        format!("Checks failed: {}.", failed.join("; "))
    }

    /// Submits a prompt, or continues one of an earlier process, waits until the agent has ended,
    /// and takes its result.
    async fn prompt(
        &mut self,
        runtime: &AgentRuntime,
        session: &AgentSession,
        text: &str,
    ) -> Result<(), Ended> {
        (self.result, self.invalid) = (None, None);
        let resumes = self.resuming.is_some();
        let continuation = match self.resuming.take() {
            Some(recorded) => self.continuation(session, &recorded).await?,
            None => Continuation::Prompt,
        };
        // The prompt of an interrupted round is the feedback of the one before.
        let recorded = match &self.state.step {
            Step::Agent { prompt, .. } if resumes => Some(prompt.clone()),
            _ => None,
        };
        let text = recorded.as_deref().unwrap_or(text);
        let turn = match continuation {
            Continuation::Verify => session.collecting_turn(),
            Continuation::Resume => session.resumed_turn(),
            Continuation::Prompt => {
                self.note_prompt(session, text);
                session.turn(text, PromptOptions::default().literal())
            }
        };
        self.save()?;
        let (collector, interrupt) =
            (self.collector.clone(), self.options.interrupt.token().clone());
        let mut stopped = None;
        let turn = turn.collect(collector.as_deref()).on_repair(|prompt| {
            stopped = self.stopped_round().or_else(|| {
                self.note_prompt(session, prompt);
                self.save().err()
            });
            stopped.is_none()
        });
        let mut turn = Box::pin(turn.run());
        let end = tokio::select! {
            end = &mut turn => Some(end),
            () = interrupt.cancelled() => None,
        };
        drop(turn);
        let Some(end) = end else {
            runtime.shut_down().await;
            return Err(self
                .interrupted()
                .unwrap_or_else(|| Ended::new(Outcome::Failed, "The agent was aborted.")));
        };
        if let Some(ended) = self.stopped_round().or(stopped) {
            return Err(ended);
        }
        match end.run.map_err(Ended::from)? {
            LoopOutcome::Completed => {}
            LoopOutcome::Suspended => return Err(self.suspended(session)),
            LoopOutcome::Limit { limit } => {
                if let Some(Ok(value)) = end.result {
                    self.result = Some(Arc::unwrap_or_clone(value));
                }
                return Err(Ended::at_limit(limit));
            }
            LoopOutcome::Failed { error } => {
                return Err(Ended::new(Outcome::of_provider_failure(&error), error));
            }
            LoopOutcome::Stopped { by, reason } => {
                let reason = format!("The run was stopped by {by}: {reason}");
                return Err(Ended::new(Outcome::Guardrail, reason));
            }
            LoopOutcome::Repetition { repetition } => {
                let reason = format!("The model repeats itself: {repetition}.");
                return Err(Ended::new(Outcome::Stuck, reason));
            }
            _ => return Err(Ended::new(Outcome::Failed, "The agent was aborted.")),
        }
        self.state.step = Step::Verify;
        self.save()?;
        match end.result {
            Some(Ok(value)) => self.result = Some(Arc::unwrap_or_clone(value)),
            Some(Err(invalid)) => return Err(self.invalid_output(invalid)),
            None => {}
        }
        Ok(())
    }

    /// Notes a prompt that is about to be submitted, for a process that resumes the run.
    fn note_prompt(&mut self, session: &AgentSession, text: &str) {
        let after = session.with_log(|log| log.leaf_id().map(str::to_owned));
        self.state.step = Step::Agent { prompt: text.to_owned(), after };
    }

    /// Returns the end of a round that was interrupted, or that makes no progress.
    fn stopped_round(&self) -> Option<Ended> {
        if let Some(ended) = self.interrupted() {
            return Some(ended);
        }
        let sentence = self.watch.evidence()?.sentence();
        let stuck = Ended::new(Outcome::Stuck, sentence.clone());
        Some(self.refused(&sentence).unwrap_or(stuck))
    }
}
