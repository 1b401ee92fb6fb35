//! Print mode for other programs: a result that matches a schema, one object on stdout, a file.

mod object;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use pi_coding_agent::extension::RunMode;
use pi_coding_agent::session::{AgentSession, InvalidOutput, OutputContract, ResultCollector};
use pi_coding_agent::{AgentOptions, Environment};
use serde_json::Value;

use super::super::input::{Prompt, prompts};
use super::super::progress::{self, Detail, StderrUi};
use super::super::setup::create;
use super::super::signals::{end_sandbox, unless_signal};
use super::{ends_early, failure_of, no_prompt, turn};
use crate::arguments::{Arguments, SchemaSource};
use crate::exit::{Exit, Failure, note, print};

/// The state of a run, as far as it came.
#[derive(Default)]
struct Run {
    session: Option<AgentSession>,
    /// Number of entries of the session before the run.
    first_entry: usize,
    /// A result that matches the schema.
    result: Option<Arc<Value>>,
    /// The last result that was refused.
    invalid: Option<InvalidOutput>,
}

/// Submits the prompts, and writes the result in the form that the options ask for.
pub(super) async fn run(arguments: &Arguments, options: AgentOptions) -> ExitCode {
    let started = Instant::now();
    let environment = options.environment();
    let file = arguments.output.file.as_ref();
    let file = file.map(|file| environment.expand(file, &environment.cwd));
    let mut run = Run::default();
    let mut failure = Box::pin(run.perform(arguments, options)).await.err();
    let mut output = run.output(arguments, failure.as_ref(), started);
    if let (Some(file), Some(text), None) = (&file, &output, &failure)
        && let Err(error) = pi_fs::replace(file, text.as_bytes())
    {
        let message = format!("cannot write {}: {error}", file.display());
        failure = Some(Failure::new(message, Exit::Failed));
        // An answer is printed all the same; the object reports the failure.
        if arguments.output.object {
            output = run.output(arguments, failure.as_ref(), started);
        }
    }
    let printed = output.map_or(ExitCode::SUCCESS, |text| print(&text));
    match failure {
        Some(failure) => failure.report(),
        None => printed,
    }
}

impl Run {
    /// Runs all prompts. A schema applies to the last one.
    async fn perform(
        &mut self,
        arguments: &Arguments,
        mut options: AgentOptions,
    ) -> Result<(), Failure> {
        let schema = arguments.output.schema.as_ref();
        let collector = schema.map(|schema| collector(schema, options.environment()));
        let collector = collector.transpose()?;
        options.extensions.own.extend(collector.as_ref().map(ResultCollector::extension));
        let created = create(arguments, options, Arc::new(StderrUi), RunMode::Print).await?;
        let session = created.runtime.session();
        self.first_entry = session.entry_count();
        self.session = Some(session.clone());
        let mut prompts = prompts(arguments, &session).await?;
        let Some(last) = prompts.pop() else { return Err(no_prompt()) };
        progress::show(&created.runtime, Detail::of_run(arguments.verbose), false);
        let work = self.answer(session, prompts, last, collector.as_ref());
        let ended = unless_signal(&created.runtime, work).await;
        end_sandbox(&created.runtime).await?;
        ended.unwrap_or_else(|exit| Err(Failure::new("the run was ended by a signal", exit)))
    }

    async fn answer(
        &mut self,
        mut session: AgentSession,
        first: Vec<Prompt>,
        last: Prompt,
        collector: Option<&ResultCollector>,
    ) -> Result<(), Failure> {
        for prompt in first {
            let end = turn(&session, prompt).run().await;
            if ends_early(&end) {
                return failure_of(&end).map_or(Ok(()), Err);
            }
            session = end.replaced.unwrap_or(session);
        }
        let last = turn(&session, last).collect(collector).on_repair(|_| {
            note("the result does not match the schema; the model repairs it");
            true
        });
        let end = last.run().await;
        let mut failure = failure_of(&end);
        match end.result {
            Some(Ok(value)) => self.result = Some(value),
            Some(Err(invalid)) => {
                failure = failure.map(|failure| keep_text(failure, &end.session, &invalid));
                self.invalid = Some(invalid);
            }
            None => {}
        }
        failure.map_or(Ok(()), Err)
    }

    /// Returns the text for stdout and the file; `None` if there is nothing to write.
    fn output(
        &self,
        arguments: &Arguments,
        failure: Option<&Failure>,
        started: Instant,
    ) -> Option<String> {
        if arguments.output.object {
            return Some(self.object(failure, started));
        }
        if arguments.output.schema.is_some() {
            // An invalid result is never printed: a reader could take it for the result.
            let result = self.result.as_ref()?;
            return serde_json::to_string_pretty(&**result).ok().map(|text| text + "\n");
        }
        let is_answer = failure.is_none_or(|failure| failure.exit == Exit::Truncated);
        let session = self.session.as_ref().filter(|_| is_answer)?;
        session.last_assistant_text().map(|text| text + "\n")
    }
}

/// Compiles the schema of the command line.
fn collector(source: &SchemaSource, environment: &Environment) -> Result<ResultCollector, Failure> {
    let (name, text) = match source {
        SchemaSource::Text(text) => ("--json-schema".to_owned(), text.clone()),
        SchemaSource::File(file) => {
            let path = environment.expand(file, &environment.cwd);
            let name = path.display().to_string();
            let text = std::fs::read_to_string(&path).map_err(|error| {
                Failure::new(format!("cannot read {name}: {error}"), Exit::Usage)
            })?;
            (name, text)
        }
    };
    let invalid =
        |error: &dyn std::fmt::Display| Failure::new(format!("{name}: {error}"), Exit::Usage);
    let schema = serde_json::from_str(&text).map_err(|error| invalid(&error))?;
    let contract = OutputContract::compile(&schema).map_err(|error| invalid(&error))?;
    Ok(ResultCollector::new(contract, None))
}

/// Adds where the text of an invalid result is, so that it is not lost.
fn keep_text(failure: Failure, session: &AgentSession, invalid: &InvalidOutput) -> Failure {
    match session.file() {
        Some(_) => {
            let hint =
                format!("the last answer is in the session: pi sessions show {}", session.id());
            failure.with_hint(hint)
        }
        None => {
            note(&format!("the last answer:\n{}", invalid.text));
            failure
        }
    }
}
