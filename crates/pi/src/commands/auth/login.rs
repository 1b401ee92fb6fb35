//! `pi auth login`: signs in to a provider.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use pi_ai::CancelToken;
use pi_coding_agent::{AgentOptions, Project, add_registered_providers};
use pi_config::StoredCredential;
use pi_host::browser;
use pi_host::credentials::{self, forms};
use pi_models::{CredentialName, LoginChoice, LoginError, LoginKind};
use pi_web::oauth::{
    Interaction, LoginEvent, LoginMethod, LoginOptions, OauthError, Prompt, PromptKind,
};
use serde_json::json;

use super::change::provider_named;

use super::{CommandResult, Credentials, Failure, plain, project};
use crate::exit::{Exit, note, print};
use crate::extensions;
use crate::flags::parse::CommandArgs;
use crate::logins::json_lines::{JsonInteraction, emit};
use crate::logins::terminal::TerminalInteraction;

/// The time that a cancelled login has to close its connections.
const GRACE: Duration = Duration::from_secs(2);

pub(in crate::commands) fn login(args: &CommandArgs) -> CommandResult {
    let project = project::open_silently()?;
    let is_json = args.has("json");
    let result = run(args, &project);
    if let (true, Err(Failure::Error { message, hint, exit })) = (is_json, &result) {
        let cancelled = *exit == Exit::Aborted;
        let message = crate::secrets::redacted(message);
        emit(&json!({ "type": "error", "message": message, "hint": hint, "cancelled": cancelled }));
    }
    result
}

fn run(args: &CommandArgs, project: &Project) -> CommandResult {
    let has_input = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let needs_no_input = args.has("device") || args.has("no-browser");
    if !args.has("json") && !has_input && (!needs_no_input || args.has("paste")) {
        return Err(Failure::usage("a login asks questions, and this is not a terminal").hint(
            "use --json in scripts, --device or --no-browser for a login without input, or `pi auth \
             set` to store a key",
        ));
    }
    let browser = match args.has("no-browser") {
        true => None,
        false => browser::program(project.environment()),
    };
    let interaction: Arc<dyn Interaction> = match args.has("json") {
        true => Arc::new(JsonInteraction::new(browser)),
        false => Arc::new(TerminalInteraction::new(browser, has_input)),
    };
    let credentials = Credentials::open(project);
    for problem in &credentials.problems {
        note(&problem.to_string());
    }
    interruptible(|cancel| async move {
        let sign_in = SignIn { args, project, credentials, interaction, cancel };
        sign_in.run().await
    })
}

/// Runs a future that an interrupt ends: it is cancelled, and the exit code reports the interrupt.
pub(in crate::commands) fn interruptible<F: Future<Output = CommandResult>>(
    start: impl FnOnce(CancelToken) -> F,
) -> CommandResult {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime
        .map_err(|error| Failure::failed(format!("cannot start the async runtime: {error}")))?;
    let cancel = CancelToken::new();
    let result = runtime.block_on(async {
        let work = start(cancel.clone());
        tokio::pin!(work);
        // Signals are handled before the first question.
        tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => {
                cancel.cancel();
                // A login that has just succeeded is stored, and the result counts.
                match tokio::time::timeout(GRACE, work).await {
                    Ok(Ok(done)) => Ok(done),
                    _ => Err(cancelled()),
                }
            }
            result = &mut work => result,
        }
    });
    // A thread may still wait for a line of input.
    runtime.shutdown_background();
    result
}

fn cancelled() -> Failure {
    Failure::new("the login was cancelled", Exit::Aborted)
}

/// A login under way.
struct SignIn<'a> {
    args: &'a CommandArgs,
    project: &'a Project,
    credentials: Credentials,
    interaction: Arc<dyn Interaction>,
    cancel: CancelToken,
}

impl SignIn<'_> {
    async fn run(self) -> CommandResult {
        self.add_extensions().await;
        let (provider, service) = match self.args.word(0) {
            Some(name) => self.named(name)?,
            None => (self.ask_provider().await?, None),
        };
        let name = credential_name(&provider, self.args.value("account"))?;
        let methods = self.credentials.registry.login_methods(&provider);
        let accounts: Vec<&LoginChoice> =
            methods.iter().filter(|choice| choice.kind != LoginKind::ApiKey).collect();
        let open: Vec<&LoginChoice> =
            accounts.iter().copied().filter(|choice| choice.unavailable.is_none()).collect();
        if !open.is_empty() {
            let choice = self.choose(&open, service.as_deref()).await?;
            return self.sign_in(&name, choice).await;
        }
        if let Some(reason) = accounts.iter().find_map(|choice| choice.unavailable.clone()) {
            return Err(Failure::failed(reason));
        }
        // A provider without a login has keys, which are as good.
        if self.args.has("device") || self.args.has("paste") {
            let message = format!("{provider} has no login");
            return Err(
                Failure::failed(message).hint(format!("use a key: `pi auth set {provider}`"))
            );
        }
        self.store_key(&name).await
    }

    /// Adds the providers of extensions, which may have logins of their own.
    async fn add_extensions(&self) {
        let mut options = AgentOptions::in_project(self.project.clone());
        options.extensions.open = extensions::opener();
        for problem in add_registered_providers(&options, &self.credentials.registry).await {
            note(&format!("warning: {problem}"));
        }
    }

    /// Returns the provider of this name, or the provider of a service of this name.
    fn named(&self, name: &str) -> Result<(String, Option<String>), Failure> {
        let registry = &self.credentials.registry;
        if self.credentials.known(name).is_none() {
            let is_service = |choice: &LoginChoice| choice.service.as_deref() == Some(name);
            let models = registry.models();
            let mut providers = models.providers();
            let found = providers.find(|id| registry.login_methods(id).iter().any(is_service));
            if let Some(provider) = found {
                return Ok((provider.to_owned(), Some(name.to_owned())));
            }
        }
        Ok((
            provider_named(&self.credentials, name)?,
            self.args.value("service").map(str::to_owned),
        ))
    }

    /// Lets the user choose a provider.
    async fn ask_provider(&self) -> Result<String, Failure> {
        let registry = &self.credentials.registry;
        let models = registry.models();
        let mut choices: Vec<(bool, String, String)> = models
            .providers()
            .map(|id| {
                let methods = registry.login_methods(id);
                let kinds: Vec<&str> = methods
                    .iter()
                    .filter(|choice| choice.unavailable.is_none())
                    .map(|choice| choice.kind.as_str())
                    .collect();
                let has_login = methods
                    .iter()
                    .any(|choice| choice.kind != LoginKind::ApiKey && choice.unavailable.is_none());
                let label = format!("{} · {}", forms::display_name(id), kinds.join("/"));
                (!has_login, id.to_owned(), label)
            })
            .collect();
        choices.sort();
        let choices = choices.into_iter().map(|(_, id, label)| (id, label)).collect();
        let message = "Provider to sign in to".to_owned();
        let prompt = Prompt { message, kind: PromptKind::Select { choices } };
        self.interaction.ask(prompt).await.map_err(|_| cancelled())
    }

    /// Returns the login that the options or the user choose.
    async fn choose<'c>(
        &self,
        open: &[&'c LoginChoice],
        service: Option<&str>,
    ) -> Result<&'c LoginChoice, Failure> {
        if let Some(wanted) = service {
            let found =
                open.iter().copied().find(|choice| choice.service.as_deref() == Some(wanted));
            return found.ok_or_else(|| {
                let known: Vec<&str> =
                    open.iter().filter_map(|choice| choice.service.as_deref()).collect();
                let message = format!("there is no service \"{wanted}\" for this provider");
                let hint = match known.is_empty() {
                    true => "leave --service out".to_owned(),
                    false => format!("the services are {}", known.join(", ")),
                };
                Failure::usage(message).hint(hint)
            });
        }
        let [first, rest @ ..] = open else { return Err(cancelled()) };
        let needs_no_input = self.args.has("device") || self.args.has("no-browser");
        if rest.is_empty() || needs_no_input {
            return Ok(first);
        }
        let choices = open.iter().enumerate();
        let choices = choices.map(|(at, choice)| (at.to_string(), choice.label.clone())).collect();
        let prompt = Prompt { message: "Login".to_owned(), kind: PromptKind::Select { choices } };
        let answer = self.interaction.ask(prompt).await.map_err(|_| cancelled())?;
        let chosen = answer.parse::<usize>().ok().and_then(|at| open.get(at).copied());
        chosen.ok_or_else(|| Failure::usage(format!("invalid choice \"{answer}\"")))
    }

    async fn sign_in(&self, name: &CredentialName, choice: &LoginChoice) -> CommandResult {
        let store = &self.credentials.store;
        if let Some(StoredCredential::ApiKey { key: Some(_), .. }) = store.get(&name.to_string())? {
            return Err(Failure::failed(format!("a key is stored for {name}")).hint(format!(
                "remove it with `pi auth logout {}`, or sign in to another account with --account \
                 NAME",
                command_words(name)
            )));
        }
        let mut options = LoginOptions::default();
        options.method = if self.args.has("device") {
            Some(LoginMethod::Device)
        } else if self.args.has("paste") {
            Some(LoginMethod::Paste)
        } else {
            None
        };
        options.callback_host =
            self.project.environment().variable("PI_OAUTH_CALLBACK_HOST").map(str::to_owned);
        let can_paste = std::io::stdin().is_terminal() || self.args.has("json");
        options.no_paste = !can_paste;
        self.interaction.show(LoginEvent::Info(format!("Signing in: {}", choice.label)));
        let (interaction, cancel) = (Arc::clone(&self.interaction), self.cancel.clone());
        let registry = &self.credentials.registry;
        let done = registry.login(name, choice.service.as_deref(), interaction, options, cancel);
        done.await.map_err(failure)?;
        self.report(name, "oauth")
    }

    async fn store_key(&self, name: &CredentialName) -> CommandResult {
        let given = super::change::variables(self.args)?;
        let method = self.args.value("method");
        let credential = forms::ask(
            &name.provider,
            method,
            given,
            self.project.environment(),
            &*self.interaction,
        )
        .await?;
        self.credentials.save(name, credential)?;
        self.report(name, "api_key")
    }

    fn report(&self, name: &CredentialName, kind: &str) -> CommandResult {
        let path = self.credentials.store.path().display().to_string();
        let expires = match self.credentials.store.get(&name.to_string())? {
            Some(StoredCredential::Oauth { expires, .. }) => Some(expires),
            _ => None,
        };
        if self.args.has("json") {
            emit(&json!({
                "type": "done", "provider": name.provider, "account": name.account,
                "authType": kind, "expires": expires, "path": path,
            }));
            return Ok(super::success());
        }
        let until = match expires.filter(|expires| *expires < credentials::FOREVER) {
            Some(expires) => format!(" (valid until {})", plain::expiry(expires)),
            None => String::new(),
        };
        let what = if kind == "oauth" { "signed in to" } else { "stored a key for" };
        Ok(print(&format!("{what} {name}{until}; stored in {path}\n")))
    }
}

/// Returns the name of a credential from `PROVIDER` and `--account`.
pub(super) fn credential_name(
    provider: &str,
    account: Option<&str>,
) -> Result<CredentialName, Failure> {
    match account {
        None => Ok(CredentialName::new(provider)),
        Some(account) => CredentialName::of_account(provider, account)
            .map_err(|error| Failure::usage(error.to_string())),
    }
}

/// Returns the words that name a credential on the command line.
pub(super) fn command_words(name: &CredentialName) -> String {
    match &name.account {
        Some(account) => format!("{} --account {account}", name.provider),
        None => name.provider.clone(),
    }
}

fn failure(error: LoginError) -> Failure {
    match error {
        LoginError::Flow(OauthError::Cancelled) => cancelled(),
        error => Failure::failed(error.to_string()),
    }
}
