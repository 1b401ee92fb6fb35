//! The authorization code flow with a proof key (RFC 6749, RFC 7636, RFC 8252).
//!
//! The browser returns to a port of this process, or the user pastes the answer: the first one
//! counts.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};
use url::Url;

use super::callback::{Callback, Serving};
use super::chatgpt;
use super::client::RegisteredClient;
use super::endpoint::{self, Params, checked};
use super::error::OauthError;
use super::flow::Flow;
use super::interaction::{LoginEvent, Prompt, PromptKind};
use super::method::LoginMethod;
use super::pasted::Redirected;
use super::random::{self, Pkce};
use super::service::{Dialect, Service};
use crate::secret;

/// Time for the consent, unless the service sets one.
const DEFAULT_LIMIT: Duration = Duration::from_secs(15 * 60);

/// A token response and the login that it answers.
pub(super) struct Granted {
    pub(super) response: Map<String, Value>,
    pub(super) client: RegisteredClient,
    /// The value that an ID token must contain, if one was requested.
    pub(super) nonce: Option<String>,
}

/// An authorization code and what its exchange needs.
pub(super) struct Code {
    pub(super) code: String,
    pub(super) verifier: Option<String>,
    state: Option<String>,
    redirect_uri: String,
    client: RegisteredClient,
    nonce: Option<String>,
}

/// Runs the flow up to the token response.
pub(super) async fn run(flow: &Flow<'_>, method: LoginMethod) -> Result<Granted, OauthError> {
    let url = flow.endpoint("tokens", flow.service.token_url.as_deref())?;
    let (code, serving) = authorize(flow, method).await?;
    flow.interaction.show(LoginEvent::Progress("Requesting the tokens".to_owned()));
    let result = exchange(flow, url, &code).await;
    // The port stays open until here, so that a reloaded page gets an answer.
    if let Some(serving) = serving {
        serving.close().await;
    }
    let response = result?;
    Ok(Granted { response, client: code.client, nonce: code.nonce })
}

/// Obtains a code from the authorization page.
pub(super) async fn authorize(
    flow: &Flow<'_>,
    method: LoginMethod,
) -> Result<(Code, Option<Serving>), OauthError> {
    let service = flow.service;
    let page = flow.endpoint("a login by browser", service.authorize_url.as_deref())?;
    let page = checked(page)?;
    require_s256(flow)?;
    let (callback, redirect_uri) = redirect(flow, method).await?;
    let client = match service.dialect {
        // The callback address takes the place of a client.
        Some(Dialect::Openrouter) => RegisteredClient::public(""),
        Some(Dialect::Chatgpt) => chatgpt::client(flow),
        _ => RegisteredClient::choose(flow, Some(redirect_uri.as_str())).await?,
    };
    let request = Request {
        state: random::token()?,
        pkce: if service.pkce.unwrap_or(true) { Some(Pkce::new()?) } else { None },
        nonce: if asks_for_id_token(service) { Some(random::token()?) } else { None },
        redirect_uri,
    };
    let url = request.url(flow, page, &client);

    let has_state = service.dialect != Some(Dialect::Openrouter);
    let state = has_state.then(|| request.state.clone());
    let mut serving = callback.map(|callback| callback.serve(state.clone()));
    flow.interaction.show(LoginEvent::AuthorizeUrl(url.into()));
    let pastes = method == LoginMethod::Paste || !flow.options.no_paste;
    let needs_id = service.dialect == Some(Dialect::Chatgpt) && chatgpt::is_registering(&client);
    let expected = Expected { state: state.as_deref(), needs_id };
    let answer = wait(flow, serving.as_mut(), pastes, &expected).await?;
    check_issuer(flow, &answer)?;
    if let Some(code) = answer.error {
        return Err(OauthError::Refused { code, description: answer.description });
    }
    let client = match service.dialect {
        Some(Dialect::Chatgpt) => chatgpt::issued(client, answer.client_id.as_deref())?,
        _ => client,
    };
    let code = Code {
        code: answer.code.unwrap_or_default(),
        verifier: request.pkce.map(|pkce| pkce.verifier),
        state,
        redirect_uri: request.redirect_uri,
        client,
        nonce: request.nonce,
    };
    Ok((code, serving))
}

/// Opens the port for the browser. The second part is the address for the server.
async fn redirect(
    flow: &Flow<'_>,
    method: LoginMethod,
) -> Result<(Option<Callback>, String), OauthError> {
    if method == LoginMethod::Paste
        && let Some(page) = &flow.service.paste_redirect_url
    {
        return Ok((None, page.clone()));
    }
    let redirect = flow.service.redirect.clone().unwrap_or_default();
    let path = redirect.path.replace("{random}", &random::uuid()?);
    let bind = flow.options.callback_host.as_deref();
    match Callback::open(&redirect, path.clone(), bind).await {
        Ok(callback) => {
            let uri = callback.uri().to_owned();
            Ok((Some(callback), uri))
        }
        // The browser is on another machine, so the port does not matter.
        Err(OauthError::Listen { .. }) if method == LoginMethod::Paste => {
            let port = redirect.ports.first().copied().unwrap_or(1455);
            Ok((None, format!("http://{}:{port}{path}", redirect.host)))
        }
        Err(error) => Err(error),
    }
}

/// Refuses servers that would ignore the proof key.
fn require_s256(flow: &Flow<'_>) -> Result<(), OauthError> {
    let listed = flow.metadata.challenge_methods.as_ref();
    let lacks = listed.is_some_and(|methods| !methods.iter().any(|method| method == "S256"));
    if lacks && flow.service.pkce.unwrap_or(true) {
        let method = "proof keys with SHA-256";
        let service = flow.service.label().to_owned();
        return Err(OauthError::Unsupported { service, method });
    }
    Ok(())
}

fn asks_for_id_token(service: &Service) -> bool {
    service.scopes.iter().any(|scope| scope == "openid")
}

/// The values of an authorization request.
struct Request {
    state: String,
    pkce: Option<Pkce>,
    nonce: Option<String>,
    redirect_uri: String,
}

impl Request {
    fn url(&self, flow: &Flow<'_>, mut url: Url, client: &RegisteredClient) -> Url {
        let service = flow.service;
        let mut params: Params = Vec::new();
        if service.dialect == Some(Dialect::Openrouter) {
            params.push(("callback_url", self.redirect_uri.clone()));
        } else {
            params.push(("response_type", "code".to_owned()));
            params.push(("client_id", client.id.clone()));
            params.push(("redirect_uri", self.redirect_uri.clone()));
            if !service.scopes.is_empty() {
                params.push(("scope", service.scopes.join(" ")));
            }
            params.push(("state", self.state.clone()));
            params.extend(service.resource.clone().map(|resource| ("resource", resource)));
            params.extend(self.nonce.clone().map(|nonce| ("nonce", nonce)));
        }
        if let Some(pkce) = &self.pkce {
            params.push(("code_challenge", pkce.challenge.clone()));
            params.push(("code_challenge_method", "S256".to_owned()));
        }
        if service.dialect == Some(Dialect::Chatgpt) {
            params.extend(chatgpt::params(flow, client));
        }
        let mut query = url.query_pairs_mut();
        query.extend_pairs(&params).extend_pairs(&service.extra_params);
        drop(query);
        url
    }
}

/// Waits for the browser, for a pasted answer, or for the end of the time.
async fn wait(
    flow: &Flow<'_>,
    mut serving: Option<&mut Serving>,
    pastes: bool,
    expected: &Expected<'_>,
) -> Result<Redirected, OauthError> {
    let limit = flow.service.login_timeout.map_or(DEFAULT_LIMIT, Duration::from_secs);
    let deadline = Instant::now() + limit;
    let question = || {
        flow.interaction.ask(Prompt {
            message: "Paste the code, or the address of the page to which the browser was sent"
                .to_owned(),
            kind: PromptKind::ManualCode,
        })
    };
    let mut asking = pastes.then(&question);
    loop {
        tokio::select! {
            biased;
            answer = async { match &mut serving {
                Some(serving) => serving.answer().await,
                None => std::future::pending().await,
            }} => return Ok(answer),
            text = async { match &mut asking {
                Some(asking) => asking.await,
                None => std::future::pending().await,
            }} => match expected.read_pasted(&text?) {
                Ok(answer) => return Ok(answer),
                Err(problem) => {
                    flow.interaction.show(LoginEvent::Info(problem.to_owned()));
                    asking = Some(question());
                }
            },
            () = sleep_until(deadline) => return Err(OauthError::Expired { limit, hint: "" }),
        }
    }
}

/// Requirements on a pasted answer.
struct Expected<'a> {
    state: Option<&'a str>,
    /// A code alone is not enough, since the answer brings the client id.
    needs_id: bool,
}

impl Expected<'_> {
    fn read_pasted(&self, text: &str) -> Result<Redirected, &'static str> {
        let Some(answer) = Redirected::from_pasted(text) else {
            return Err("That is neither a code nor an address with a code.");
        };
        if let (Some(got), Some(expected)) = (&answer.state, self.state)
            && !secret::is_equal(got, expected)
        {
            return Err("That code belongs to another login. Use the newest address.");
        }
        if self.needs_id && answer.client_id.is_none() && answer.error.is_none() {
            return Err("The code alone is not enough here. Paste the whole address of the page.");
        }
        Ok(answer)
    }
}

/// Checks that the answer comes from the server that was asked (RFC 9207).
fn check_issuer(flow: &Flow<'_>, answer: &Redirected) -> Result<(), OauthError> {
    let expected = flow.metadata.issuer.as_str();
    match &answer.issuer {
        Some(issuer) if !expected.is_empty() && issuer != expected => Err(OauthError::Untrusted(
            format!("it comes from \"{}\", not from \"{expected}\"", super::text::clean(issuer)),
        )),
        // A pasted code has no further parameters.
        None if flow.metadata.sends_issuer && answer.state.is_some() && answer.error.is_none() => {
            Err(OauthError::Untrusted("it does not name its issuer".to_owned()))
        }
        _ => Ok(()),
    }
}

async fn exchange(
    flow: &Flow<'_>,
    url: &str,
    code: &Code,
) -> Result<Map<String, Value>, OauthError> {
    let service = flow.service;
    let mut params: Params = vec![
        ("grant_type", "authorization_code".to_owned()),
        ("code", code.code.clone()),
        ("redirect_uri", code.redirect_uri.clone()),
        ("client_id", code.client.id.clone()),
    ];
    params.extend(code.verifier.clone().map(|verifier| ("code_verifier", verifier)));
    params.extend(service.resource.clone().map(|resource| ("resource", resource)));
    if service.send_state == Some(true) {
        params.extend(code.state.clone().map(|state| ("state", state)));
    }
    let mut headers = flow.headers();
    code.client.authenticate(&mut params, &mut headers);
    endpoint::post(flow.web, url, service.encoding(), &params, &headers).await?.success()
}
