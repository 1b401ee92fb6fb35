//! A tool behind the guard: judged before it runs, sandboxed while it runs, redacted afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_agent::{
    AgentTool, BoxFuture, Budget, Invocation, RequiredApproval, ToolError, ToolOutput, Updates,
};
use pi_config::settings::ApprovalPolicy;
use pi_guard::Decision;
use pi_guard::confine::{Denial, DenialTarget, explain_denial};
use pi_guard::policy::{Part, PathAccess, Scope};
use pi_protocol::{CancelToken, Effects, Tool, UserBlock};
use pi_tools::{Workspace, toolset};
use serde_json::{Map, Value};

use super::ask::Approval;
use super::change;
use super::judge::OutsideFile;
use super::notes::{append, noted};
use super::sandbox::Escalation;
use super::watch::{self, Watching};
use super::{ApprovalRequest, Call, CallDecision, Guard, Judgment, Outcome, ToolOrigin};
use crate::tap::TappedCall;

/// Advice to the model after a denial of the sandbox.
const ADVICE: &str = "Continue without it, or tell the user what is needed.";

/// The same if an approval would have permitted it and no one can give one.
const UNAPPROVED: &str = "It needs approval, and no one can approve it in this mode. Continue \
    without it, or tell the user what is needed.";

/// A tool behind the guard.
pub(crate) struct Guarded {
    inner: Arc<dyn AgentTool>,
    guard: Arc<Guard>,
    workspace: Arc<Workspace>,
    origin: ToolOrigin,
}

impl Guarded {
    /// Puts a tool behind the guard. A built-in tool was built for this workspace.
    pub(crate) fn wrap(
        inner: Arc<dyn AgentTool>,
        guard: &Arc<Guard>,
        workspace: &Arc<Workspace>,
        origin: ToolOrigin,
    ) -> Arc<dyn AgentTool> {
        let (guard, workspace) = (Arc::clone(guard), Arc::clone(workspace));
        Arc::new(Self { inner, guard, workspace, origin })
    }

    fn name(&self) -> &str {
        &self.inner.declaration().name
    }

    async fn call(&self, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let Invocation { id, arguments: given, cancel, updates, budget, .. } = invocation;
        let declared = invocation.effects.unwrap_or_else(|| self.inner.effects(&given));
        let arguments = self.guard.restore(&declared, given.clone())?;
        // Declared again if something was restored: a path may have contained a placeholder.
        let effects = match arguments == given {
            true => declared,
            false => self.inner.effects(&arguments),
        };
        let updates = self.guard.redact_updates(updates);
        let call = Call {
            tool: self.name(),
            arguments: &arguments,
            effects: &effects,
            origin: self.origin,
        };
        let is_internal = self.origin == ToolOrigin::Builtin
            && toolset::find_builtin(self.name()).is_none()
            && effects.is_read_only()
            && effects.reads.is_empty();
        let tapped = TappedCall { id: &id, tool: self.name(), arguments: &given, is_internal };
        let required = &invocation.required_approvals;
        let admission = self.admit(call, required, tapped, &cancel).await?;
        let Admission::Granted(judgment, note) = admission else {
            return Ok(ToolOutput::suspended("Waits for approval."));
        };
        let run = async {
            let (cancel, updates) = (&cancel, &updates);
            let attempt =
                Attempt { id: &id, arguments: arguments.clone(), cancel, updates, budget: &budget };
            let output = self.run(&judgment, &effects, attempt).await;
            let output = output.map(|output| self.guard.note_untrusted(output));
            match note {
                Some(note) => noted(output, &note),
                None => output,
            }
        };
        match self.guard.tap() {
            Some(tap) => {
                let run = async { self.redacted(run.await) };
                tap.execute(tapped, Box::pin(run)).await
            }
            None => run.await,
        }
    }

    /// Runs a call that was admitted.
    async fn run(
        &self,
        judgment: &Judgment,
        effects: &Effects,
        mut attempt: Attempt<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let refuse = |judgment: Judgment| ToolError::new(judgment.refusal());
        self.guard.checkpoint(effects).await.map_err(refuse)?;
        let tool = self.tool_for(judgment, effects, &mut attempt.arguments)?;
        self.guard.announce(attempt.id, self.name())?;
        let observed = self.guard.observe_call(effects, self.is_watched());
        let mut output = attempt.execute(&*tool).await;
        let refused = self.guard.take_refused_programs();
        if let Some(refused) = watch::note(&refused) {
            output = noted(output, &refused);
        } else if judgment.verdict.confined
            && !effects.runs.is_empty()
            && let Some(denial) = self.denial(&output)
        {
            let script = effects.runs.join("\n");
            output = self.after_denial(&attempt, &script, denial, output).await;
        }
        drop(observed);
        for note in self.guard.disable_agent_files() {
            output = noted(output, &format!("[{note}]"));
        }
        output
    }

    fn redacted(&self, output: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
        match output {
            Ok(output) => Ok(self.guard.redact_output(output)),
            Err(error) => Err(ToolError::new(self.guard.redact(error.message()))),
        }
    }

    /// Judges a call and waits for approval where one is needed. The error is the reason why the
    /// call may not run.
    async fn admit(
        &self,
        call: Call<'_>,
        required: &[RequiredApproval],
        tapped: TappedCall<'_>,
        cancel: &CancelToken,
    ) -> Result<Admission, ToolError> {
        let what = call.describe();
        let decided = |decision, reasons| self.guard.decided(tapped, &what, decision, reasons);
        let cwd = self.workspace.cwd().to_string_lossy();
        loop {
            let judgment = self.guard.judge_with(call, &self.workspace, required);
            match judgment.outcome {
                Outcome::Run => {
                    decided(CallDecision::Run, Vec::new()).await;
                    return Ok(Admission::Granted(judgment, None));
                }
                Outcome::RunConfined => {
                    decided(CallDecision::RunConfined, judgment.reasons()).await;
                    return Ok(Admission::Granted(judgment, None));
                }
                Outcome::Refuse => {
                    decided(CallDecision::Refused, judgment.reasons()).await;
                    return Err(ToolError::new(judgment.refusal()));
                }
                Outcome::Ask => {}
            }
            let change = match call.origin {
                ToolOrigin::Builtin => change::describe(call.tool, call.arguments),
                ToolOrigin::External => None,
            };
            let request = |parts| ApprovalRequest {
                change,
                ..ApprovalRequest::new(self.name(), tapped.id, &what, &cwd, parts)
            };
            match self.guard.approval(&judgment, request, cancel).await {
                Approval::Granted(note) => {
                    decided(CallDecision::Approved, judgment.reasons()).await;
                    return Ok(Admission::Granted(judgment, note));
                }
                // With the approvals of another call, the outcome is another one.
                Approval::Covered => {}
                Approval::Denied(text) => {
                    let mut reasons = judgment.reasons();
                    reasons.push(text.clone());
                    decided(CallDecision::Refused, reasons).await;
                    return Err(ToolError::new(text));
                }
                Approval::Deferred => {
                    decided(CallDecision::Deferred, judgment.reasons()).await;
                    return Ok(Admission::Suspended);
                }
            }
        }
    }

    /// Returns the tool with the rights that the judgment gives it.
    fn tool_for(
        &self,
        judgment: &Judgment,
        effects: &Effects,
        arguments: &mut Map<String, Value>,
    ) -> Result<Arc<dyn AgentTool>, ToolError> {
        if !judgment.outside_sandbox.is_empty() {
            for file in &judgment.outside_sandbox {
                self.use_real_path(file, arguments)?;
            }
            return self.rebuild(Some(&Escalation::NoSandbox), Watching::Approved);
        }
        // The tool was built for the sandbox if the session has one.
        let is_confined = self.guard.confined().is_some();
        let runs = self.origin == ToolOrigin::Builtin && !effects.runs.is_empty();
        let confined = judgment.verdict.confined;
        // What runs although it needs approval was approved.
        let approved = judgment.verdict.decision == Decision::Ask;
        let watching = || self.guard.watching(&effects.runs, approved, confined);
        match confined {
            true if !is_confined => self.rebuild(None, watching()),
            false if runs && (is_confined || self.is_watched()) => {
                self.rebuild(Some(&Escalation::NoSandbox), watching())
            }
            true if runs && approved && self.is_watched() => self.rebuild(None, watching()),
            _ => Ok(Arc::clone(&self.inner)),
        }
    }

    /// Returns true if the programs that commands of this tool start are judged.
    fn is_watched(&self) -> bool {
        toolset::find_builtin(self.name()).is_some() && self.guard.sandbox.watcher().is_active()
    }

    /// Replaces the path of an approved file outside of the sandbox by its real path: a sandboxed
    /// command could change the links on the way to it.
    fn use_real_path(
        &self,
        file: &OutsideFile,
        arguments: &mut Map<String, Value>,
    ) -> Result<(), ToolError> {
        let real = Value::from(file.real.to_string_lossy());
        let argument = file.argument.as_deref().filter(|name| match arguments.get(*name) {
            None => true,
            Some(given) => *given == file.path.as_str() || *given == real,
        });
        let Some(argument) = argument else {
            let (tool, path) = (self.name(), &file.path);
            return Err(ToolError::new(format!(
                "{path} was not accessed: {tool} cannot access it outside of the sandbox."
            )));
        };
        arguments.insert(argument.to_owned(), real);
        Ok(())
    }

    /// Builds the same tool with other rights: in the sandbox, or with an escalation. Only
    /// built-in tools on this machine can be rebuilt.
    fn rebuild(
        &self,
        escalation: Option<&Escalation>,
        watching: Watching,
    ) -> Result<Arc<dyn AgentTool>, ToolError> {
        let unsupported =
            || ToolError::new(format!("The rights of the tool {} cannot be changed.", self.name()));
        if self.origin == ToolOrigin::External || !self.guard.plan().is_local {
            return Err(unsupported());
        }
        let builtin = toolset::find_builtin(self.name()).ok_or_else(unsupported)?;
        let host = self.guard.sandbox.host(escalation, watching).map_err(ToolError::new)?;
        let workspace = (*self.workspace).clone().with_executor(Arc::new(host));
        builtin.build(&Arc::new(workspace)).ok_or_else(unsupported)
    }

    /// Returns what the sandbox denied to a command, if anything.
    fn denial(&self, output: &Result<ToolOutput, ToolError>) -> Option<Denial> {
        let refused = self.guard.sandbox.take_refused_hosts();
        if let Some(refused) = refused.into_iter().next_back() {
            return Some(refused.into());
        }
        let output = output.as_ref().ok()?;
        let confined = self.guard.sandbox.in_use()?;
        let denial = explain_denial(&confined, self.workspace.cwd(), &text(output))?;
        // A command that succeeds may print such a message for other reasons. A hidden file is
        // mentioned in any case: it is a secret, and `cat secret | head` succeeds.
        (output.is_error || self.is_hidden(&denial.target)).then_some(denial)
    }

    fn is_hidden(&self, target: &DenialTarget) -> bool {
        let DenialTarget::Path(path) = target else { return false };
        self.guard.sandbox.check(path, PathAccess::Read).is_err()
    }

    /// Adds the denial to the result of a command, or runs the command once more if the approver
    /// allows it the rights that it lacked.
    async fn after_denial(
        &self,
        attempt: &Attempt<'_>,
        script: &str,
        denial: Denial,
        first: Result<ToolOutput, ToolError>,
    ) -> Result<ToolOutput, ToolError> {
        let target = describe(&denial.target);
        let annotate = |output: Result<ToolOutput, ToolError>, advice: &str| {
            output.map(|mut output| {
                let note = format!("[The sandbox denied {target}: {}. {advice}]", denial.rule);
                append(&mut output, &note);
                output
            })
        };
        let Some((escalation, scope)) = self.escalation(&denial.target, script) else {
            let is_program = matches!(denial.target, DenialTarget::Program(_));
            return annotate(first, if is_program { ADVICE } else { UNAPPROVED });
        };
        let request = || {
            if self.guard.approvals.covers(&scope) {
                return None;
            }
            let reason = denial.rule.clone();
            let part = Part::new(target.clone(), Decision::Ask, reason, scope.clone());
            let cwd = self.workspace.cwd().to_string_lossy();
            let mut request =
                ApprovalRequest::new(self.name(), attempt.id, script, &cwd, vec![part]);
            request.wider = Some(escalation.to_string());
            request.rule = None;
            Some(request)
        };
        let answer = tokio::select! {
            biased;
            () = attempt.cancel.cancelled() => return first,
            answer = self.guard.ask(request) => answer,
        };
        match answer {
            Approval::Denied(_) => annotate(first, ADVICE),
            // The command has run, so its result cannot wait for the decision.
            Approval::Deferred => annotate(first, UNAPPROVED),
            Approval::Granted(_) | Approval::Covered => {
                match self.rebuild(Some(&escalation), Watching::Approved) {
                    Ok(tool) => {
                        let second = attempt.execute(&*tool).await;
                        annotate(second, &format!("It was run again {escalation}, as approved."))
                    }
                    Err(error) => annotate(first, error.message()),
                }
            }
        }
    }

    /// Returns the escalation that would permit what was denied, and the scope under which its
    /// approval is remembered.
    fn escalation(&self, target: &DenialTarget, script: &str) -> Option<(Escalation, Scope)> {
        let guard = &self.guard;
        if guard.approver.is_none() || guard.plan().approval == ApprovalPolicy::Never {
            return None;
        }
        let this_script = || Scope::Script { text: script.to_owned() };
        match target {
            DenialTarget::Path(path) => {
                let root = Escalation::WritableRoot(existing_directory(path));
                let inside = path.starts_with(self.workspace.cwd());
                if inside
                    || self.is_hidden(target)
                    || guard.sandbox.host(Some(&root), Watching::Off).is_err()
                {
                    return Some((Escalation::NoSandbox, this_script()));
                }
                Some((root, Scope::Path { path: path.clone(), access: PathAccess::Write }))
            }
            DenialTarget::Host(Some(host)) => {
                Some((Escalation::Network, Scope::Host { host: host.clone() }))
            }
            DenialTarget::Host(None) => Some((Escalation::Network, this_script())),
            DenialTarget::Operation => Some((Escalation::NoSandbox, this_script())),
            // A rule forbids the program, and no approval overrides a rule.
            _ => None,
        }
    }
}

/// The decision about a call.
enum Admission {
    /// The call may run; the text, if any, is a note to add to the result.
    Granted(Judgment, Option<String>),
    /// The call waits for approval.
    Suspended,
}

/// A call that may be executed more than once.
struct Attempt<'a> {
    id: &'a str,
    arguments: Map<String, Value>,
    cancel: &'a CancelToken,
    updates: &'a Updates,
    budget: &'a Budget,
}

impl Attempt<'_> {
    async fn execute(&self, tool: &dyn AgentTool) -> Result<ToolOutput, ToolError> {
        let (cancel, updates) = (self.cancel.clone(), self.updates.clone());
        let invocation = Invocation::new(self.id, self.arguments.clone(), cancel, updates);
        tool.execute(invocation.with_budget(self.budget.clone())).await
    }
}

impl AgentTool for Guarded {
    fn inner(&self) -> Option<&dyn AgentTool> {
        Some(&*self.inner)
    }

    fn declaration(&self) -> &Tool {
        self.inner.declaration()
    }

    fn requests_approval(&self) -> bool {
        true
    }

    /// Files have the same names for all tools: an extension and a built-in tool may both write one.
    fn identify_file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, PathBuf> {
        Box::pin(self.workspace.identify_file(path))
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let output = self.call(invocation).await;
            self.redacted(output)
        })
    }
}

/// Describes what was denied.
fn describe(target: &DenialTarget) -> String {
    match target {
        DenialTarget::Path(path) => path.display().to_string(),
        DenialTarget::Host(Some(host)) => format!("a connection to {host}"),
        DenialTarget::Host(None) => "a connection".to_owned(),
        DenialTarget::Program(program) => format!("running {}", program.display()),
        _ => "an operation on other processes or the system".to_owned(),
    }
}

/// Returns the nearest existing directory above a file.
fn existing_directory(path: &Path) -> PathBuf {
    let mut ancestors = path.ancestors();
    ancestors.find(|path| path.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

/// Returns all text of a result.
fn text(output: &ToolOutput) -> String {
    let texts: Vec<&str> = output.content.iter().filter_map(UserBlock::as_text).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests;
