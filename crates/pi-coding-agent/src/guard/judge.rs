//! Judging a call by its declared effects, before an approver is asked.

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use pi_agent::RequiredApproval;
use pi_base::unpoisoned;
use pi_config::settings::Profile;
use pi_guard::Decision;
use pi_guard::confine::{HostFilter, Network, host_matches};
use pi_guard::policy::{Part, PathAccess, Policy, Scope, Verdict};
use pi_protocol::{Effects, FileEffect};
use pi_tools::Workspace;
use serde::Serialize;
use serde_json::{Map, Value};

use super::conclude::Action;
use super::plan::GuardPlan;
use super::{Approvals, Guard};

/// A tool call, as the guard judges it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Name of the tool; only rules look at it.
    pub tool: &'a str,
    /// Arguments of the call.
    pub arguments: &'a Map<String, Value>,
    /// Effects that the tool declares for these arguments.
    pub effects: &'a Effects,
    /// Origin of the tool.
    pub origin: ToolOrigin,
}

/// The origin of a tool, which decides how far the guard relies on its declared effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolOrigin {
    /// A tool of `pi-tools`, or another part of the program: its declaration is exact, and the
    /// sandbox applies to what it declares.
    Builtin,
    /// A tool of an extension, an MCP server or an SDK user. Its declaration is a claim, and the
    /// sandbox does not apply to it.
    External,
}

impl Call<'_> {
    /// Describes the call for an approver. An external tool does not get to choose the words.
    pub(super) fn describe(&self) -> String {
        match (&self.effects.summary, self.origin) {
            (Some(summary), ToolOrigin::Builtin) => summary.text.clone(),
            _ => Value::Object(self.arguments.clone()).to_string(),
        }
    }
}

/// The way in which a judged call proceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The call runs without the sandbox.
    Run,
    /// The call runs in the sandbox.
    RunConfined,
    /// The call runs if the approver allows it.
    Ask,
    /// The call does not run.
    Refuse,
}

/// The decision about a call.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Judgment {
    /// The way in which the call proceeds.
    pub outcome: Outcome,
    /// The decisions about the parts of the call.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The reason for the outcome where it does not follow from the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Files of the call that the sandbox does not permit. An approval is needed for each.
    #[serde(skip)]
    pub(super) outside_sandbox: Vec<OutsideFile>,
}

/// A file that the sandbox does not permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutsideFile {
    /// Path of the file without symbolic links.
    pub(super) real: PathBuf,
    /// The path as the call gives it.
    pub(super) path: String,
    /// Name of the argument that holds the path.
    pub(super) argument: Option<String>,
}

impl Guard {
    /// Judges a shell command.
    pub fn judge_command(&self, command: &str) -> Judgment {
        self.conclude(Verdict::from_parts(self.check_script(command)), Action::Command)
    }

    /// Judges an access of a built-in tool to a file.
    pub fn judge_path(&self, path: &Path, access: PathAccess) -> Judgment {
        let mut parts = self.check_path(path, access);
        parts.extend(self.check_sandbox(path, access));
        self.conclude(Verdict::from_parts(parts), Action::File)
    }

    /// Judges a connection to a host.
    pub fn judge_host(&self, host: &str) -> Judgment {
        let mut judgment = self.conclude(self.check_host(host), Action::Outside);
        let restricted = judgment.verdict.decision != Decision::Allow;
        if restricted && judgment.note.is_none() && self.plan.network == Network::On {
            let note = "the network is on, so this applies only to commands that name the host";
            judgment.note = Some(note.to_owned());
        }
        judgment
    }

    /// Judges a tool call by the rules for its tool and by each of its effects.
    pub fn judge(&self, call: Call<'_>, workspace: &Workspace) -> Judgment {
        self.judge_with(call, workspace, &[])
    }

    /// Judges a tool call for which something else than a rule requires approval, too.
    pub(super) fn judge_with(
        &self,
        call: Call<'_>,
        workspace: &Workspace,
        required: &[RequiredApproval],
    ) -> Judgment {
        let rule = self.policy().check_tool(call.tool, call.arguments);
        // A rule for the tool answers what the tool itself leaves open, but no restriction of
        // what it declares.
        let has_rule = rule.is_some();
        let mut parts = rule.map(|verdict| verdict.parts).unwrap_or_default();
        if !has_rule && call.origin == ToolOrigin::External {
            parts.push(self.tool_part(call, "no rule for this tool"));
        }
        let mut outside_sandbox = Vec::new();
        match call.origin {
            ToolOrigin::Builtin => {
                parts.extend(self.check_effects(call.effects, workspace));
                self.check_sandboxed(call.effects, workspace, &mut parts, &mut outside_sandbox);
            }
            // Only restrictions count. A declaration is no reason to allow a call, and a tool that
            // declares its effects is not asked about more often than one that does not.
            ToolOrigin::External => {
                let restricts = |part: &Part| match part.decision {
                    Decision::Forbid => true,
                    Decision::Ask => part.rule.is_some(),
                    Decision::Allow => false,
                };
                let checked = self.check_effects(call.effects, workspace);
                parts.extend(checked.into_iter().filter(restricts));
            }
        }
        if call.effects.undeclared && !has_rule {
            parts.push(self.tool_part(call, "its effects are not declared"));
        }
        if has_no_effects(call.effects) && parts.is_empty() {
            let reason = "it has no effects outside of the agent";
            let scope = Scope::Tool { name: call.tool.to_owned() };
            parts.push(Part::new(call.tool, Decision::Allow, reason, scope));
        }
        parts.extend(required.iter().map(|approval| required_part(call, approval)));
        let action = match call.origin {
            ToolOrigin::External => Action::Outside,
            ToolOrigin::Builtin if call.effects.runs.is_empty() => Action::File,
            ToolOrigin::Builtin => Action::Command,
        };
        Judgment { outside_sandbox, ..self.conclude(Verdict::from_parts(parts), action) }
    }

    /// Returns true if the content of a file may be shown without approval.
    pub(super) fn may_show(&self, path: &Path) -> bool {
        if self.sandbox.check(path, PathAccess::Read).is_err() {
            return false;
        }
        // The usual case, and this is called for every file of a tree.
        if !self.policy().restricts_files() {
            return true;
        }
        let verdict =
            self.with_policy(|policy, context| policy.check_path(path, PathAccess::Read, context));
        match verdict.decision {
            Decision::Allow => true,
            Decision::Ask => self.is_approved(&verdict),
            Decision::Forbid => false,
        }
    }

    /// Checks a command that the user typed, which counts as approved. The error is the reason why
    /// a rule forbids it.
    pub fn check_user_command(&self, command: &str) -> Result<(), String> {
        let judgment = self.judge_command(command);
        match judgment.verdict.decision {
            Decision::Forbid => Err(judgment.refusal()),
            Decision::Ask | Decision::Allow => Ok(()),
        }
    }

    /// Applies the policy to every declared effect.
    fn check_effects(&self, effects: &Effects, workspace: &Workspace) -> Vec<Part> {
        let mut parts = Vec::new();
        for script in &effects.runs {
            parts.extend(self.check_script(script));
        }
        for (file, access) in files(effects) {
            parts.extend(self.check_path(&workspace.resolve(&file.path), access));
        }
        for host in &effects.connects {
            parts.extend(self.check_host(host).parts);
        }
        parts
    }

    /// Applies the policy to a script. A script without a command, such as an assignment, is a part
    /// of its own.
    fn check_script(&self, script: &str) -> Vec<Part> {
        let verdict = self.with_policy(|policy, context| policy.check(script, context));
        let mut parts = verdict.parts;
        if parts.is_empty() && !script.trim().is_empty() {
            let scope = Scope::Script { text: script.to_owned() };
            parts.push(Part::new(script, Decision::Allow, "it runs no program", scope));
        }
        parts
    }

    /// Applies the sandbox to every file that a built-in tool declares. Commands and connections
    /// are held by the sandbox itself.
    fn check_sandboxed(
        &self,
        effects: &Effects,
        workspace: &Workspace,
        parts: &mut Vec<Part>,
        outside: &mut Vec<OutsideFile>,
    ) {
        for (file, access) in files(effects) {
            let path = workspace.resolve(&file.path);
            if let Some(part) = self.check_sandbox(&path, access) {
                parts.push(part);
                outside.push(OutsideFile {
                    real: self.real_path(&path),
                    path: file.path.clone(),
                    argument: file.argument.clone(),
                });
            }
        }
    }

    /// Applies the rules for files to a path as given, and to its real path if that differs.
    fn check_path(&self, path: &Path, access: PathAccess) -> Vec<Part> {
        let check = |path: &Path| {
            self.with_policy(|policy, context| policy.check_path(path, access, context)).parts
        };
        let mut parts = check(path);
        let real = self.real_path(path);
        if real != path {
            parts.extend(check(&real));
        }
        parts
    }

    /// Returns the approval that is needed for a file outside of the sandbox.
    fn check_sandbox(&self, path: &Path, access: PathAccess) -> Option<Part> {
        let real = self.real_path(path);
        let rule = self.sandbox.check(&real, access).err()?;
        let what = real.display().to_string();
        let mut reason = format!("the sandbox does not permit it: {rule}");
        if access != PathAccess::Read && self.trusted.contains(&real) {
            reason.push_str(", because the settings or options of the user name it");
        }
        let scope = Scope::Path { path: real, access };
        Some(Part::new(what, Decision::Ask, reason, scope))
    }

    /// Applies the rules for hosts and the network setting.
    fn check_host(&self, host: &str) -> Verdict {
        let (decision, reason) = match &self.plan.network {
            Network::Off => (Decision::Ask, "the network is off"),
            Network::On => (Decision::Allow, "no rule for this host, and the network is on"),
            Network::Hosts(named) if host_matches(named, host) => {
                (Decision::Allow, "it is one of the allowed hosts")
            }
            Network::Hosts(_) => (Decision::Ask, "it is not one of the allowed hosts"),
        };
        let scope = Scope::Host { host: host.to_owned() };
        let by_setting = Verdict::from_parts(vec![Part::new(host, decision, reason, scope)]);
        match self.policy().check_host(host) {
            None => by_setting,
            Some(by_rule) if by_rule.decision == Decision::Forbid => by_rule,
            // No rule switches the network on.
            Some(_) if self.plan.network == Network::Off => by_setting,
            Some(by_rule) => by_rule,
        }
    }

    /// Returns the decision about a tool as a whole, where neither a rule nor a declared effect
    /// decides.
    fn tool_part(&self, call: Call<'_>, reason: &str) -> Part {
        let (decision, confined) = match (self.plan.profile, call.origin) {
            (Profile::Explore, ToolOrigin::External) => (Decision::Allow, false),
            (Profile::Explore, ToolOrigin::Builtin) => (Decision::Allow, true),
            (Profile::Careful | Profile::Unattended, _) => (Decision::Ask, false),
        };
        let scope = Scope::Tool { name: call.tool.to_owned() };
        let mut part = Part::new(call.tool, decision, reason, scope);
        part.confined = confined;
        part
    }
}

impl Judgment {
    /// Returns the tool error for a refused call.
    pub fn refusal(&self) -> String {
        let mut text = "This is not allowed and was not run.".to_owned();
        if let Some(part) = self.verdict.decisive() {
            text.push_str(&format!(" {}: {}", part.what, part.reason));
            if let Some(rule) = &part.rule {
                text.push_str(&format!(" [{rule}]"));
            }
        }
        if let Some(note) = &self.note {
            text.push_str("; ");
            text.push_str(note);
        }
        text.push_str(". Do not work around this: continue without it, or tell the user.");
        text
    }
}

/// Returns the part of a call that stands for a required approval. An approval for the session
/// covers the same call with the same arguments only.
fn required_part(call: Call<'_>, approval: &RequiredApproval) -> Part {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    let scope = Scope::Exactly { words: vec![call.tool.to_owned(), arguments] };
    let mut part = Part::new(call.tool, Decision::Ask, approval.reason.clone(), scope);
    // It asks like a rule: no lasting approval replaces it.
    part.rule = Some(approval.by.clone());
    part
}

/// Returns the declared files with the access to each.
fn files(effects: &Effects) -> impl Iterator<Item = (&FileEffect, PathAccess)> {
    let reads = effects.reads.iter().map(|file| (file, PathAccess::Read));
    reads.chain(effects.writes.iter().map(|file| (file, PathAccess::Write)))
}

fn has_no_effects(effects: &Effects) -> bool {
    effects.is_read_only() && effects.reads.is_empty()
}

/// Returns the filter for connections of sandboxed commands where the network is limited to hosts.
pub(super) fn host_filter(
    plan: &GuardPlan,
    policy: &Arc<RwLock<Policy>>,
    approvals: &Approvals,
) -> HostFilter {
    let named = match &plan.network {
        Network::Hosts(hosts) => hosts.clone(),
        Network::On | Network::Off => Vec::new(),
    };
    let (policy, approvals) = (Arc::clone(policy), approvals.clone());
    Arc::new(move |host, _port| {
        let policy = unpoisoned(policy.read());
        let ruled = policy.check_host(host);
        let strict = ruled.as_ref().and_then(Verdict::decisive);
        let strict = strict.filter(|part| part.decision > Decision::Allow);
        let approved = || approvals.covers(&Scope::Host { host: host.to_owned() });
        match strict {
            Some(part) if part.decision == Decision::Forbid => Err(part.reason.clone()),
            _ if approved() => Ok(()),
            Some(part) => Err(part.reason.clone()),
            // Not by the rule's own pattern: `*` must not mean this machine's addresses.
            None if host_matches(&named, host) || host_matches(&policy.allowed_hosts(), host) => {
                Ok(())
            }
            None => Err("it is not one of the allowed hosts".to_owned()),
        }
    })
}
