//! Signs in when the suite's server refuses a request. The browser only follows redirects.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use pi_mcp::BoxFuture;
use pi_mcp::sign_in::{self, Credentials, Settings, SignIn};
use pi_mcp::transport::{self, Authorization, Verdict};
use pi_protocol::CancelToken;
use pi_protocol::HookFuture;
use pi_web::oauth::{Cancelled, Challenge, Interaction, LoginEvent, Prompt};
use pi_web::{WebBody, WebClient, WebRequest};
use secrecy::ExposeSecret as _;
use serde_json::Value;
use url::Url;

use crate::note;

/// The document that the suite accepts as client id.
const METADATA_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Sign-ins of one run; more would be a loop.
const MAX_SIGN_INS: usize = 4;

/// The sign-in to one server.
pub(crate) struct SignsIn {
    server: Url,
    web: WebClient,
    settings: Settings,
    credentials: Mutex<Option<Credentials>>,
    tries: AtomicUsize,
}

impl SignsIn {
    /// Takes a registered client from the context of the scenario.
    pub(crate) fn new(server: Url, web: WebClient, context: &Value) -> Self {
        let text = |name: &str| context[name].as_str().map(str::to_owned);
        let settings = Settings {
            client_id: text("client_id"),
            client_secret: text("client_secret"),
            client_metadata_url: Some(METADATA_DOCUMENT.to_owned()),
            ..Settings::default()
        };
        Self { server, web, settings, credentials: Mutex::default(), tries: AtomicUsize::new(0) }
    }

    fn known(&self) -> Option<Credentials> {
        self.credentials.lock().ok()?.clone()
    }

    async fn sign_in(&self, refusal: transport::Challenge) -> Result<(), String> {
        if self.tries.fetch_add(1, Ordering::Relaxed) >= MAX_SIGN_INS {
            return Err("signed in too often".to_owned());
        }
        let challenge = refusal.www_authenticate.iter().find_map(|header| Challenge::read(header));
        let previous = self.known();
        let request = SignIn {
            server: &self.server,
            settings: &self.settings,
            challenge: challenge.as_ref(),
            previous: previous.as_ref(),
            no_paste: true,
            callback_host: None,
            timeout: Some(20),
        };
        let browser = Browser(self.web.clone());
        let signed_in = sign_in::sign_in(&self.web, &request, &browser, CancelToken::new()).await;
        let signed_in = signed_in.map_err(|error| error.to_string())?;
        if let Ok(mut credentials) = self.credentials.lock() {
            *credentials = Some(signed_in);
        }
        Ok(())
    }
}

impl Authorization for SignsIn {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, String>> {
        let token = self.known().map(|known| known.access.expose_secret().to_owned());
        Box::pin(async { Ok(token) })
    }

    fn challenged(&self, challenge: transport::Challenge) -> BoxFuture<'_, Verdict> {
        Box::pin(async {
            match self.sign_in(challenge).await {
                Ok(()) => Verdict::Retry,
                Err(problem) => {
                    note(&problem);
                    Verdict::GiveUp(problem)
                }
            }
        })
    }
}

/// A browser whose user agrees with everything.
struct Browser(WebClient);

impl Interaction for Browser {
    fn show(&self, event: LoginEvent) {
        if let LoginEvent::AuthorizeUrl(url) = event {
            let web = self.0.clone();
            tokio::spawn(async move {
                if let Err(problem) = browse(&web, url).await {
                    note(&format!("the browser: {problem}"));
                }
            });
        }
    }

    fn ask(&self, _prompt: Prompt) -> HookFuture<Result<String, Cancelled>> {
        Box::pin(async { Err(Cancelled) })
    }
}

/// Opens a page and follows its redirects.
async fn browse(web: &WebClient, mut url: String) -> Result<(), String> {
    for _ in 0..10 {
        let (method, body) = ("GET".to_owned(), WebBody::Empty);
        let request = WebRequest { method, url: url.clone(), headers: Vec::new(), body };
        let response = web.send(request).await.map_err(|error| error.to_string())?;
        let target = response.headers.iter().find(|(name, _)| name == "location");
        let Some((_, target)) = target else { return Ok(()) };
        let page = Url::parse(&url).and_then(|page| page.join(target));
        url = page.map_err(|error| error.to_string())?.to_string();
    }
    Err("too many redirects".to_owned())
}
