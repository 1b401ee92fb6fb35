//! A tool behind the guard: judged before it runs, held while it runs, masked when it speaks.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_agent::{AgentTool, BoxFuture, ExecutionMode, Invocation, ToolError, ToolOutput, Updates};
use pi_guard::Decision;
use pi_guard::confine::{Denial, DenialTarget, explain_denial};
use pi_guard::policy::{Part, PathAccess, Scope};
use pi_protocol::{CancelToken, Tool, UserBlock};
use pi_tools::{Workspace, toolset};
use serde_json::{Map, Value};

use super::remember::Answered;
use super::sandbox::Wider;
use super::{ApprovalRequest, Call, Guard, Judgment, Outcome};
use crate::config::settings::ApprovalPolicy;

/// Origin of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolOrigin {
    Builtin,
    External,
}

/// A tool behind the guard.
pub(crate) struct Guarded {
    inner: Arc<dyn AgentTool>,
    guard: Arc<Guard>,
    workspace: Arc<Workspace>,
    ours: bool,
}

impl Guarded {
    /// Puts a tool behind the guard. `ours`: it was made by `pi-tools` for this workspace.
    pub(crate) fn wrap(
        inner: Arc<dyn AgentTool>,
        guard: &Arc<Guard>,
        workspace: &Arc<Workspace>,
        origin: ToolOrigin,
    ) -> Arc<dyn AgentTool> {
        let ours = origin == ToolOrigin::Builtin;
        let (guard, workspace) = (Arc::clone(guard), Arc::clone(workspace));
        Arc::new(Self { inner, guard, workspace, ours })
    }

    fn name(&self) -> &str {
        &self.inner.declaration().name
    }

    async fn call(&self, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let Invocation { id, arguments, cancel, updates, .. } = invocation;
        let mut arguments = self.guard.restore(self.name(), arguments)?;
        let updates = self.guard.mask_updates(updates);
        let call = Call { tool: self.name(), arguments: &arguments, ours: self.ours };
        let judgement = self.guard.judge(call, &self.workspace);
        let cwd = self.workspace.cwd().to_string_lossy();
        let what = call.what();
        let question = |parts| ApprovalRequest::new(self.name(), &id, &what, &cwd, parts);
        let note = self.guard.admit(&judgement, question, &cancel).await?;
        let tool = self.as_judged(&judgement, &mut arguments)?;
        let run = Run { id: &id, arguments: &arguments, cancel: &cancel, updates: &updates };
        let mut output = run.with(&*tool).await;
        if self.name() == "bash"
            && let Some(denial) = self.denial(&output)
        {
            output = self.denied(&run, &what, denial, output).await;
        }
        if let Some(note) = note {
            match &mut output {
                Ok(output) => append(output, &note),
                Err(error) => *error = ToolError::new(format!("{error}\n\n{note}")),
            }
        }
        output
    }

    /// The tool, where it is to run. A file beyond the sandbox that was approved is then named by
    /// its real path: what leads there may be changed by somebody confined.
    fn as_judged(
        &self,
        judgement: &Judgment,
        arguments: &mut Map<String, Value>,
    ) -> Result<Arc<dyn AgentTool>, ToolError> {
        match (&judgement.outcome, &judgement.beyond) {
            (Outcome::RunConfined, _) => self.elsewhere(None),
            (_, Some(path)) => {
                arguments.insert("path".to_owned(), path.to_string_lossy().into());
                self.elsewhere(Some(&Wider::Off))
            }
            (_, None) => Ok(Arc::clone(&self.inner)),
        }
    }

    /// The same tool with other rights. A tool that is not ours has none that could be changed.
    fn elsewhere(&self, wider: Option<&Wider>) -> Result<Arc<dyn AgentTool>, ToolError> {
        let host = self.guard.sandbox.host(wider).map_err(ToolError::new)?;
        let workspace = (*self.workspace).clone().with_executor(Arc::new(host));
        let tools = toolset::all(&Arc::new(workspace));
        let same = tools.into_iter().find(|tool| tool.declaration().name == self.name());
        same.filter(|_| self.ours).ok_or_else(|| {
            ToolError::new(format!("The tool {} cannot be run with other rights.", self.name()))
        })
    }

    /// What the sandbox denied, if a command failed and said so.
    fn denial(&self, output: &Result<ToolOutput, ToolError>) -> Option<Denial> {
        let refused = self.guard.sandbox.refused_hosts();
        if let Some(refused) = refused.into_iter().next_back() {
            return Some(Denial::from(refused));
        }
        let failed = output.as_ref().ok().filter(|output| output.is_error)?;
        let confined = self.guard.sandbox.in_use()?;
        explain_denial(&confined, self.workspace.cwd(), &text(failed))
    }

    /// Tells of what was denied; and if somebody is there and says so, runs it once more.
    async fn denied(
        &self,
        run: &Run<'_>,
        what: &str,
        denial: Denial,
        first: Result<ToolOutput, ToolError>,
    ) -> Result<ToolOutput, ToolError> {
        let told = format!("[The sandbox denied {}: {}.", named(&denial.target), denial.rule);
        let tell = |output: Result<ToolOutput, ToolError>, more: &str| {
            output.map(|mut output| {
                append(&mut output, &format!("{told} {more}]"));
                output
            })
        };
        const ADVICE: &str = "Do without it, or tell the user what is needed.";
        let Some((wider, scope)) = self.wider(&denial.target, what) else {
            return tell(first, ADVICE);
        };
        let ask = || {
            if self.guard.approvals.cover(&scope) {
                return None;
            }
            let what_denied = named(&denial.target);
            let part = Part::new(what_denied, Decision::Ask, denial.rule.clone(), scope.clone());
            let cwd = self.workspace.cwd().to_string_lossy();
            let mut question = ApprovalRequest::new(self.name(), run.id, what, &cwd, vec![part]);
            question.wider = Some(wider.to_string());
            question.rule = None;
            Some(question)
        };
        let answered = tokio::select! {
            biased;
            () = run.cancel.cancelled() => return first,
            answered = self.guard.ask(ask) => answered,
        };
        match answered {
            Answered::No(_) => tell(first, ADVICE),
            Answered::Yes(_) => {
                let again = match self.elsewhere(Some(&wider)) {
                    Ok(tool) => run.with(&*tool).await,
                    Err(error) => return tell(first, error.message()),
                };
                tell(again, &format!("It was run once more {wider}, as approved."))
            }
        }
    }

    /// What would let a denied command through, and what approving that is remembered for.
    fn wider(&self, denied: &DenialTarget, what: &str) -> Option<(Wider, Scope)> {
        let guard = &self.guard;
        if guard.approver.is_none() || guard.plan().approval == ApprovalPolicy::Never {
            return None;
        }
        let script = || Scope::Script { text: what.to_owned() };
        match denied {
            DenialTarget::Path(path) => {
                let scope = Scope::Path { path: path.clone(), access: PathAccess::Write };
                let directory = existing_directory(path);
                let root = Wider::Root(directory);
                let inside = path.starts_with(self.workspace.cwd());
                let hidden = guard.sandbox.may(path, false).is_err();
                if inside || hidden || guard.sandbox.host(Some(&root)).is_err() {
                    return Some((Wider::Off, script()));
                }
                Some((root, scope))
            }
            DenialTarget::Host(Some(host)) => {
                Some((Wider::Network, Scope::Host { host: host.clone() }))
            }
            DenialTarget::Host(None) => Some((Wider::Network, script())),
            DenialTarget::Operation => Some((Wider::Off, script())),
            // No approval overrides a rule that forbids a program.
            _ => None,
        }
    }
}

/// One call, as often as it is made.
struct Run<'a> {
    id: &'a str,
    arguments: &'a Map<String, Value>,
    cancel: &'a CancelToken,
    updates: &'a Updates,
}

impl Run<'_> {
    async fn with(&self, tool: &dyn AgentTool) -> Result<ToolOutput, ToolError> {
        tool.execute(Invocation::new(
            self.id,
            self.arguments.clone(),
            self.cancel.clone(),
            self.updates.clone(),
        ))
        .await
    }
}

impl AgentTool for Guarded {
    fn declaration(&self) -> &Tool {
        self.inner.declaration()
    }

    fn label(&self) -> Cow<'_, str> {
        self.inner.label()
    }

    fn prompt_snippet(&self) -> Option<&str> {
        self.inner.prompt_snippet()
    }

    fn prompt_guidelines(&self) -> &[String] {
        self.inner.prompt_guidelines()
    }

    fn execution_mode(&self) -> ExecutionMode {
        self.inner.execution_mode()
    }

    fn prepare_arguments(
        &self,
        raw: &Map<String, Value>,
    ) -> Result<Option<Map<String, Value>>, ToolError> {
        self.inner.prepare_arguments(raw)
    }

    fn effects(&self, arguments: &Map<String, Value>) -> pi_protocol::Effects {
        self.inner.effects(arguments)
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let done = self.call(invocation).await;
            let masked = |error: ToolError| ToolError::new(self.guard.redact(error.message()));
            done.map(|output| self.guard.mask_output(output)).map_err(masked)
        })
    }
}

/// What was denied, in words.
fn named(denied: &DenialTarget) -> String {
    match denied {
        DenialTarget::Path(path) => path.display().to_string(),
        DenialTarget::Host(Some(host)) => format!("a connection to {host}"),
        DenialTarget::Host(None) => "a connection".to_owned(),
        DenialTarget::Program(program) => format!("running {}", program.display()),
        _ => "an operation on other processes or the system".to_owned(),
    }
}

/// The nearest directory above a file that is there.
fn existing_directory(path: &Path) -> PathBuf {
    let mut above = path.ancestors();
    above.find(|path| path.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

/// All text of a result.
fn text(output: &ToolOutput) -> String {
    let texts: Vec<&str> = output.content.iter().filter_map(UserBlock::as_text).collect();
    texts.join("\n")
}

/// Adds a line for the model.
fn append(output: &mut ToolOutput, note: &str) {
    output.content.push(UserBlock::text(note.to_owned()));
}
