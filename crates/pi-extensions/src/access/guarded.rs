//! Rights that the guard of a session gives to its tools.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use pi_base::unpoisoned;
use pi_coding_agent::guard::{ExtensionAction, Guard, Outcome};
use pi_guard::confine::Examination;
use tokio::runtime::Handle;

use super::{FileAccess, Launch, Permission, refused};
use crate::error::NativeError;

/// The guard of the current session.
#[derive(Debug, Clone)]
pub(super) struct Guarded {
    guard: Arc<RwLock<Arc<Guard>>>,
    main: Handle,
}

impl Guarded {
    pub(super) fn new(guard: Arc<Guard>) -> Self {
        Self { guard: Arc::new(RwLock::new(guard)), main: Handle::current() }
    }

    pub(super) fn set(&self, guard: &Arc<Guard>) {
        *unpoisoned(self.guard.write()) = Arc::clone(guard);
    }

    fn guard(&self) -> Arc<Guard> {
        unpoisoned(self.guard.read()).clone()
    }
}

impl Guarded {
    /// Checks a real path.
    pub(super) fn file(
        &self,
        real: PathBuf,
        access: FileAccess,
    ) -> Result<Permission<PathBuf>, NativeError> {
        let action = match access {
            FileAccess::Read => ExtensionAction::Read(real.clone()),
            FileAccess::Write => ExtensionAction::Write(real.clone()),
        };
        self.decide(action, |_, _| Ok(real))
    }

    pub(super) fn connect(&self, host: &str) -> Result<Permission<()>, NativeError> {
        self.decide(ExtensionAction::Connect(host.to_owned()), |_, _| Ok(()))
    }

    /// Checks a program as the line of shell that it would be.
    pub(super) fn run(&self, launch: Launch) -> Result<Permission<Launch>, NativeError> {
        let words = std::iter::once(&launch.program).chain(&launch.arguments);
        let words: Vec<String> = words.map(|word| quote(&word.to_string_lossy())).collect();
        self.decide(ExtensionAction::Run(words.join(" ")), |guard, is_confined| {
            if !is_confined {
                return Ok(launch);
            }
            let Some(confined) = guard.confined() else {
                return Err(refused("this program may run only in the sandbox"));
            };
            let Launch { program, arguments, cwd, variables, search, .. } = launch;
            #[cfg(target_os = "linux")]
            if let Some(danger) = confined.dangers().first() {
                return Err(refused(&format!("an earlier command left a {danger}")));
            }
            let examination = Examination::begin(Arc::clone(&confined));
            let command = confined.command(&program, &arguments, &cwd, &variables);
            let (program, arguments) = (command.program, command.arguments);
            let (variables, confined) = (command.environment, Some(Arc::new(examination)));
            Ok(Launch { program, arguments, cwd, variables, search, confined })
        })
    }

    /// Returns the permission for an action; `value` is told whether the sandbox applies.
    fn decide<T>(
        &self,
        action: ExtensionAction,
        value: impl FnOnce(&Guard, bool) -> Result<T, NativeError>,
    ) -> Result<Permission<T>, NativeError> {
        let guard = self.guard();
        let judgment = guard.judge_extension(&action);
        match judgment.outcome {
            Outcome::Run | Outcome::RunConfined => {
                Ok(Permission::granted(value(&guard, judgment.verdict.confined)?))
            }
            Outcome::Ask => {
                let value = value(&guard, judgment.verdict.confined)?;
                let approval = async move {
                    let approved = guard.approve_extension(&action, &judgment).await;
                    approved.map_err(|reason| denied(&reason))
                };
                Ok(Permission::after(value, self.main.clone(), approval))
            }
            Outcome::Refuse => Err(denied(&judgment.refusal())),
        }
    }
}

fn denied(reason: &str) -> NativeError {
    NativeError::new(reason).with("code", "ERR_ACCESS_DENIED")
}

/// Quotes a word for a shell.
fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns the variables without secrets and addresses of services.
pub(super) fn without_secrets(variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let all: Vec<(OsString, OsString)> =
        variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let visible = pi_guard::confine::without_secrets(&all, &[]);
    let text = |text: OsString| text.to_string_lossy().into_owned();
    visible.into_iter().map(|(name, value)| (text(name), text(value))).collect()
}
