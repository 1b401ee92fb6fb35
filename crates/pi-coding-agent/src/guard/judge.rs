//! What is decided about a call, before anybody is asked.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use pi_guard::Decision;
use pi_guard::confine::{ConfinementLevel, HostFilter, Network, host_matches};
use pi_guard::policy::{Part, PathAccess, Policy, Scope, Verdict};
use pi_tools::Workspace;
use serde::Serialize;
use serde_json::{Map, Value};

use super::plan::GuardPlan;
use super::{Approvals, Guard, real_path};
use crate::config::settings::{ApprovalPolicy, Profile};

/// A call of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments.
    pub arguments: &'a Map<String, Value>,
    /// It is one of ours, whose arguments are understood and which the sandbox holds.
    pub ours: bool,
}

impl Call<'_> {
    fn text(&self, key: &str) -> Option<&str> {
        self.arguments.get(key).and_then(Value::as_str)
    }

    /// What it is about, for people.
    pub(super) fn what(&self) -> String {
        let told = self.text("command").or_else(|| self.text("path"));
        told.map_or_else(|| Value::Object(self.arguments.clone()).to_string(), str::to_owned)
    }
}

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It runs.
    Run,
    /// It runs in the sandbox, although others do not: nobody knows all of what it does.
    RunConfined,
    /// Somebody is asked.
    Ask,
    /// It does not run.
    Refuse,
}

/// What is decided about a call.
#[derive(Debug, Clone, Serialize)]
pub struct Judgment {
    /// What happens to it.
    pub outcome: Outcome,
    /// The decisions that led there.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Why it is refused, or run as it is, where that does not follow from the decisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The file that the sandbox does not permit, which is asked about: its real path.
    #[serde(skip)]
    pub(super) beyond: Option<PathBuf>,
}

impl Guard {
    /// Decides about a shell command.
    pub fn judge_command(&self, command: &str) -> Judgment {
        let verdict = self.look(|policy, scene| policy.check(command, scene));
        self.conclude(verdict)
    }

    /// Decides about a file that a tool would read or write.
    pub fn judge_path(&self, path: &Path, reach: PathAccess) -> Judgment {
        let mut parts = Vec::new();
        let beyond = self.file(path, reach, &mut parts);
        Judgment { beyond, ..self.conclude(Verdict::from_parts(parts)) }
    }

    /// Decides about a connection of a command.
    pub fn judge_host(&self, host: &str) -> Judgment {
        let ruled = self.policy().check_host(host);
        let (decision, reason) = match &self.plan.network {
            Network::Off => (Decision::Ask, "the network is off"),
            Network::On => (Decision::Allow, "no rule speaks of it, and the network is on"),
            Network::Hosts(named) if host_matches(named, host) => {
                (Decision::Allow, "it is among the hosts that can be reached")
            }
            Network::Hosts(_) => (Decision::Ask, "it is not among the hosts that can be reached"),
        };
        let scope = Scope::Host { host: host.to_owned() };
        let held = Verdict::from_parts(vec![Part::new(host, decision, reason, scope)]);
        let Some(ruled) = ruled else { return self.conclude(held) };
        // No rule switches the network on.
        let strictest = ruled.decision == Decision::Forbid || self.plan.network != Network::Off;
        let mut judgement = self.conclude(if strictest { ruled } else { held });
        let asks = judgement.verdict.decision != Decision::Allow;
        if asks && judgement.note.is_none() && self.plan.network == Network::On {
            let note = "the network is on: this holds for commands that name the host, and for no \
                        others";
            judgement.note = Some(note.to_owned());
        }
        judgement
    }

    /// Decides about a call.
    pub fn judge(&self, call: Call<'_>, workspace: &Workspace) -> Judgment {
        let (mut parts, mut beyond) = (Vec::new(), None);
        let ruled = self.policy().check_tool(call.tool, call.arguments);
        if !call.ours && ruled.is_none() {
            parts.push(self.unknown_tool(call.tool));
        }
        parts.extend(ruled.into_iter().flat_map(|ruled| ruled.parts));
        match (call.tool, call.text("command"), call.text("path")) {
            ("bash", Some(command), _) => {
                parts.extend(self.look(|policy, scene| policy.check(command, scene)).parts);
            }
            ("write" | "edit", _, Some(path)) => {
                beyond = self.file(&workspace.resolve(path), PathAccess::Write, &mut parts);
            }
            ("read" | "grep" | "find" | "ls", _, path) => {
                let path = workspace.resolve(path.unwrap_or("."));
                beyond = self.file(&path, PathAccess::Read, &mut parts);
            }
            _ => {}
        }
        Judgment { beyond, ..self.conclude(Verdict::from_parts(parts)) }
    }

    /// Whether a file may be read without asking.
    pub(super) fn may_show(&self, path: &Path) -> bool {
        if self.sandbox.may(path, false).is_err() {
            return false;
        }
        // The usual case, and asked for every file of a tree.
        if !self.policy().restricts_files() {
            return true;
        }
        let verdict = self.look(|policy, scene| policy.check_path(path, PathAccess::Read, scene));
        match verdict.decision {
            Decision::Allow => true,
            Decision::Ask => self.is_approved(&verdict),
            Decision::Forbid => false,
        }
    }

    /// Whether a command that the user runs may run: whoever types it has approved it.
    pub fn check_user_command(&self, command: &str) -> Result<(), String> {
        let judgement = self.judge_command(command);
        match judgement.verdict.decision {
            Decision::Forbid => Err(judgement.refusal()),
            Decision::Ask | Decision::Allow => Ok(()),
        }
    }

    /// Adds what the rules and the sandbox say about a file, by the name that was given and by the
    /// one that it has. That one if the sandbox objects.
    fn file(&self, path: &Path, reach: PathAccess, parts: &mut Vec<Part>) -> Option<PathBuf> {
        let real = real_path(path);
        parts.extend(self.look(|policy, scene| policy.check_path(path, reach, scene)).parts);
        if real != path {
            parts.extend(self.look(|policy, scene| policy.check_path(&real, reach, scene)).parts);
        }
        let denial = self.sandbox.may(&real, reach != PathAccess::Read).err()?;
        let reason = format!("the sandbox does not permit it: {}", denial.rule);
        let scope = Scope::Path { path: real.clone(), access: reach };
        parts.push(Part::new(real.display().to_string(), Decision::Ask, reason, scope));
        Some(real)
    }

    /// A tool of somebody else: the sandbox does not hold it.
    fn unknown_tool(&self, name: &str) -> Part {
        let decision = match self.plan.profile {
            Profile::Explore => Decision::Allow,
            Profile::Careful | Profile::Unattended => Decision::Ask,
        };
        let scope = Scope::Tool { name: name.to_owned() };
        Part::new(name, decision, "no rule speaks of this tool", scope)
    }

    fn conclude(&self, verdict: Verdict) -> Judgment {
        let (outcome, note) = match verdict.decision {
            Decision::Forbid => (Outcome::Refuse, None),
            Decision::Ask if self.is_approved(&verdict) => (Outcome::Run, None),
            Decision::Ask => self.whom_to_ask(),
            Decision::Allow if verdict.confined => self.where_to_run(),
            Decision::Allow => (Outcome::Run, None),
        };
        Judgment { outcome, verdict, note, beyond: None }
    }

    /// Whether all that needs a yes has one.
    fn is_approved(&self, verdict: &Verdict) -> bool {
        let mut asked = verdict.parts.iter().filter(|part| part.decision == Decision::Ask);
        asked.all(|part| self.approvals.cover(&part.scope))
    }

    fn whom_to_ask(&self) -> (Outcome, Option<String>) {
        let nobody = match (self.plan.approval, &self.approver) {
            (ApprovalPolicy::Never, _) => {
                "it would need an approval, and the approval policy is `never`: nobody is asked"
            }
            (_, None) => "it would need an approval, and nobody is here to give one",
            (_, Some(_)) => return (Outcome::Ask, None),
        };
        (Outcome::Refuse, Some(nobody.to_owned()))
    }

    /// What cannot be analysed runs only where it is held; or where there is nothing that it
    /// could get past.
    fn where_to_run(&self) -> (Outcome, Option<String>) {
        if !self.plan.is_confined() && !self.policy().restricts() {
            let why = "nobody knows all of what it does, but no rule asks or forbids anything";
            return (Outcome::Run, Some(why.to_owned()));
        }
        let why = match self.sandbox.confined() {
            Ok(confined) if confined.level() == ConfinementLevel::None => {
                "this machine has no confinement".to_owned()
            }
            Ok(_) if self.plan.is_confined() => return (Outcome::Run, None),
            Ok(_) => return (Outcome::RunConfined, None),
            Err(error) => error,
        };
        let note = format!(
            "nobody knows all of what it does, so it may run only in the sandbox, which cannot be \
             had: {why}"
        );
        (Outcome::Refuse, Some(note))
    }
}

impl Judgment {
    /// Why it is refused, for the model.
    pub fn refusal(&self) -> String {
        let decisive = self.verdict.decisive();
        let reason = decisive.map_or_else(String::new, |part| {
            let rule = part.rule.as_ref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
            format!("{}: {}{rule}", part.what, part.reason)
        });
        let mut text = format!("This is not allowed and was not run. {reason}");
        if let Some(note) = &self.note {
            text.push_str("; ");
            text.push_str(note);
        }
        text.push_str(". Do not try to get around it: do without, or tell the user.");
        text
    }
}

/// Who confined commands may reach, where only some hosts are named.
pub(super) fn decide_host(
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
        let policy = policy.read().unwrap_or_else(PoisonError::into_inner);
        let ruled = policy.check_host(host);
        let strict = ruled.as_ref().and_then(Verdict::decisive);
        let strict = strict.filter(|part| part.decision > Decision::Allow);
        let approved = || approvals.cover(&Scope::Host { host: host.to_owned() });
        match strict {
            Some(part) if part.decision == Decision::Forbid => Err(part.reason.clone()),
            _ if approved() => Ok(()),
            Some(part) => Err(part.reason.clone()),
            // Not by the rule's own pattern: `*` must not mean this machine's addresses.
            None if host_matches(&named, host) || host_matches(&policy.allowed_hosts(), host) => {
                Ok(())
            }
            None => Err("it is not among the hosts that can be reached".to_owned()),
        }
    })
}
