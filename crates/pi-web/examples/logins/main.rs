//! Signs in at a certified authorization server, with a scripted browser.
//!
//!     cargo run -p pi-ai --example logins -- ISSUER [BINARY HOME]
//!
//! `cargo xtask interop logins` starts the server and runs this program; see `docs/interop.md`. It
//! prints one line of JSON for each case; the caller builds a table and sets the exit code. With the
//! program `pi` and a home directory for it, its commands are tested too.

mod browser;
mod program;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pi_protocol::CancelToken;
use pi_protocol::HookFuture;
use pi_web::WebClient;
use pi_web::oauth::{
    Cancelled, Interaction, LoginEvent, LoginMethod, LoginOptions, Prompt, RefreshError, Service,
    Tokens, discover, login, refresh, revoke,
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use browser::Browser;
use program::Program;

/// The outcome of a case; `Err` describes the problem.
type Outcome = Result<(), String>;

const TIME_LIMIT: Duration = Duration::from_secs(60);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (issuer, program) = match arguments.as_slice() {
        [issuer] => (issuer, None),
        [issuer, binary, home] => (issuer, Some((Path::new(binary), Path::new(home)))),
        _ => return Err("usage: logins ISSUER [BINARY HOME]".to_owned()),
    };
    let peer = Peer { issuer: issuer.clone(), web: WebClient::new(Arc::new(|_| None)) };
    report("discovery", peer.discovery()).await;
    report("browser", peer.browser()).await;
    report("client secret", peer.client_secret()).await;
    report("pasted code", peer.pasted()).await;
    report("registration", peer.registration()).await;
    report("resource", peer.resource()).await;
    report("device", peer.device()).await;
    report("rotation", peer.rotation()).await;
    report("reuse revokes", peer.reuse()).await;
    report("revocation", peer.revocation()).await;
    if let Some((binary, home)) = program {
        let program = Program::new(binary, home, issuer, peer.web.clone())?;
        report("pi auth login", program.login()).await;
        report("50 processes", async { program.race() }).await;
    }
    Ok(())
}

#[allow(clippy::print_stdout)] // The result of the program.
async fn report(name: &str, case: impl Future<Output = Outcome>) {
    let outcome = match tokio::time::timeout(TIME_LIMIT, case).await {
        Ok(outcome) => outcome,
        Err(_) => Err(format!("no end within {} s", TIME_LIMIT.as_secs())),
    };
    let (outcome, why) = match outcome {
        Ok(()) => ("ok", String::new()),
        Err(why) => ("FAILED", why),
    };
    let row = json!({"format": "oauth", "conversation": name, "outcome": outcome, "why": why});
    println!("{row}");
}

/// The user: passes events on, and answers questions with what `answers` brings.
struct User {
    events: mpsc::UnboundedSender<LoginEvent>,
    answers: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<String>>>,
}

impl Interaction for User {
    fn show(&self, event: LoginEvent) {
        let _ = self.events.send(event);
    }

    fn ask(&self, _: Prompt) -> HookFuture<Result<String, Cancelled>> {
        let answers = Arc::clone(&self.answers);
        Box::pin(async move { answers.lock().await.recv().await.ok_or(Cancelled) })
    }
}

struct Peer {
    issuer: String,
    web: WebClient,
}

impl Peer {
    fn service(&self) -> Service {
        let mut service = Service::default();
        service.issuer = Some(self.issuer.clone());
        service.client_id = Some("pi-test".to_owned());
        service.scopes = ["openid", "offline_access"].map(str::to_owned).to_vec();
        service
    }

    /// Signs in; the browser does what the events say.
    async fn sign_in(&self, service: &Service, method: LoginMethod) -> Result<Tokens, String> {
        let (event_sender, mut events) = mpsc::unbounded_channel();
        let (answer_sender, answers) = mpsc::unbounded_channel();
        let user = User { events: event_sender, answers: Arc::new(answers.into()) };
        let options = LoginOptions::new(Some(method));
        let login = login(service, &self.web, &user, options, CancelToken::new());
        let browsing = async {
            let mut browser = Browser::new(self.web.clone());
            while let Some(event) = events.recv().await {
                match event {
                    LoginEvent::AuthorizeUrl(url) if method == LoginMethod::Paste => {
                        let target = redirect_of(&url).ok_or("the page has no redirect")?;
                        let back = browser.open_until(&url, &target).await?;
                        let _ = answer_sender.send(back.into());
                    }
                    LoginEvent::AuthorizeUrl(url) => {
                        browser.open(&url).await?;
                    }
                    LoginEvent::DeviceCode { verification_url, complete_url, .. } => {
                        browser.open(&complete_url.unwrap_or(verification_url)).await?;
                    }
                    _ => {}
                }
            }
            Ok::<(), String>(())
        };
        tokio::pin!(login);
        tokio::select! {
            result = &mut login => result.map_err(|error| error.to_string()),
            Err(problem) = browsing => Err(format!("the browser: {problem}")),
        }
    }

    async fn discovery(&self) -> Outcome {
        let found = discover(&self.web, &self.issuer).await.map_err(|error| error.to_string())?;
        ensure(found.issuer == self.issuer, "another issuer")?;
        ensure(found.device_url.is_some() && found.registration_url.is_some(), "endpoints lack")?;
        ensure(found.revoke_url.is_some() && found.jwks_url.is_some(), "endpoints lack")?;
        ensure(found.sends_issuer, "the server is said not to send its issuer")
    }

    /// Includes the check of `iss` and of the ID token with the keys of the server.
    async fn browser(&self) -> Outcome {
        let tokens = self.sign_in(&self.service(), LoginMethod::Browser).await?;
        ensure(tokens.refresh.is_some(), "no refresh token")?;
        ensure(tokens.extra.get("email") == Some(&json!("user-1@example.com")), "no account")?;
        ensure(!tokens.extra.contains_key("clientId"), "a configured id was stored")
    }

    async fn client_secret(&self) -> Outcome {
        let mut service = self.service();
        service.client_id = Some("pi-secret".to_owned());
        let secret: Value = "a secret/with+signs".into();
        service.client_secret =
            serde_json::from_value(secret).map_err(|error| error.to_string())?;
        let tokens = self.sign_in(&service, LoginMethod::Browser).await?;
        self.renew(&service, &tokens).await.map(drop)
    }

    async fn pasted(&self) -> Outcome {
        self.sign_in(&self.service(), LoginMethod::Paste).await.map(drop)
    }

    async fn registration(&self) -> Outcome {
        let mut service = self.service();
        service.client_id = None;
        service.register = Some(true);
        let tokens = self.sign_in(&service, LoginMethod::Browser).await?;
        ensure(tokens.extra.contains_key("clientId"), "the issued id was not stored")?;
        let renewed = self.renew(&service, &tokens).await?;
        ensure(renewed.extra.contains_key("clientId"), "the issued id was lost")
    }

    async fn resource(&self) -> Outcome {
        let mut service = self.service();
        service.resource = Some("https://api.example.com/v1".to_owned());
        service.scopes.push("api".to_owned());
        let tokens = self.sign_in(&service, LoginMethod::Browser).await?;
        let is_jwt = tokens.access.expose_secret().split('.').count() == 3;
        ensure(is_jwt, "the token is not the one of the resource")?;
        self.renew(&service, &tokens).await.map(drop)
    }

    async fn device(&self) -> Outcome {
        let tokens = self.sign_in(&self.service(), LoginMethod::Device).await?;
        self.renew(&self.service(), &tokens).await.map(drop)
    }

    async fn rotation(&self) -> Outcome {
        let service = self.service();
        let mut tokens = self.sign_in(&service, LoginMethod::Browser).await?;
        for _ in 0..5 {
            let renewed = self.renew(&service, &tokens).await?;
            let secret = |tokens: &Tokens| {
                tokens.refresh.as_ref().map(|token| token.expose_secret().to_owned())
            };
            ensure(secret(&renewed) != secret(&tokens), "the refresh token did not rotate")?;
            tokens = renewed;
        }
        Ok(())
    }

    /// A refresh token that is used twice ends the login, for the newest tokens too.
    async fn reuse(&self) -> Outcome {
        let service = self.service();
        let first = self.sign_in(&service, LoginMethod::Browser).await?;
        let second = self.renew(&service, &first).await?;
        self.refuses(&service, &first).await?;
        self.refuses(&service, &second).await
    }

    async fn revocation(&self) -> Outcome {
        let service = self.service();
        let tokens = self.sign_in(&service, LoginMethod::Browser).await?;
        let revoked = revoke(&service, &self.web, &tokens).await;
        ensure(revoked.map_err(|error| error.to_string())?, "no endpoint")?;
        self.refuses(&service, &tokens).await
    }

    async fn renew(&self, service: &Service, tokens: &Tokens) -> Result<Tokens, String> {
        refresh(service, &self.web, tokens).await.map_err(|error| error.to_string())
    }

    async fn refuses(&self, service: &Service, tokens: &Tokens) -> Outcome {
        match refresh(service, &self.web, tokens).await {
            Err(RefreshError::SignInAgain { .. }) => Ok(()),
            Err(other) => Err(format!("not final: {other}")),
            Ok(_) => Err("the tokens were renewed".to_owned()),
        }
    }
}

fn redirect_of(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    let pair = url.query_pairs().find(|(name, _)| name == "redirect_uri")?;
    Some(pair.1.into_owned())
}

fn ensure(condition: bool, problem: &str) -> Outcome {
    if condition { Ok(()) } else { Err(problem.to_owned()) }
}
