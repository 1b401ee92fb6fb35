//! The device flow (RFC 8628): the user enters a code on any device, and we ask until it is done.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use super::client::RegisteredClient;
use super::endpoint::{self, Params, Reply};
use super::error::OauthError;
use super::flow::Flow;
use super::interaction::LoginEvent;
use super::text::clean;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
const DEFAULT_INTERVAL: Duration = Duration::from_secs(5);
const MIN_INTERVAL: Duration = Duration::from_secs(1);
const SLOW_DOWN: Duration = Duration::from_secs(5);
const DEFAULT_LIFETIME: Duration = Duration::from_secs(15 * 60);
const MAX_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// Time before the end of the code at which the last request is sent.
const LAST_POLL: Duration = Duration::from_secs(1);
/// Failures of the connection in a row that are tolerated.
const MAX_FAILURES: u32 = 5;

/// Runs the flow and returns the token response.
pub(super) async fn run(
    flow: &Flow<'_>,
    client: &RegisteredClient,
) -> Result<Map<String, Value>, OauthError> {
    let service = flow.service;
    let url = flow.endpoint("a device code", service.device_url.as_deref())?;
    let token_url = flow.endpoint("a device code", service.token_url.as_deref())?;
    let mut params: Params = vec![("client_id", client.id.clone())];
    if !service.scopes.is_empty() {
        params.push(("scope", service.scopes.join(" ")));
    }
    params.extend(service.resource.clone().map(|resource| ("resource", resource)));
    let mut headers = flow.headers();
    client.authenticate(&mut params, &mut headers);
    let mut named: Vec<(&str, String)> = params;
    named.extend(service.extra_params.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let reply = endpoint::post(flow.web, url, service.encoding(), &named, &headers).await?;
    let code = DeviceCode::read(reply)?;
    flow.interaction.show(code.event());

    let mut params: Params = vec![
        ("grant_type", GRANT.to_owned()),
        ("device_code", code.device_code.clone()),
        ("client_id", client.id.clone()),
    ];
    let mut headers = flow.headers();
    client.authenticate(&mut params, &mut headers);
    poll(code.interval, code.lifetime, async || {
        endpoint::post(flow.web, token_url, service.encoding(), &params, &headers).await
    })
    .await
}

/// The answer to a request for a code.
pub(super) struct DeviceCode {
    pub(super) device_code: String,
    user_code: String,
    verification_url: String,
    complete_url: Option<String>,
    pub(super) interval: Duration,
    pub(super) lifetime: Duration,
}

impl DeviceCode {
    fn read(reply: Reply) -> Result<Self, OauthError> {
        let text = |name: &str| Some(reply.body.get(name)?.as_str()?.to_owned());
        let device_code = text("device_code");
        let user_code = text("user_code");
        let url = text("verification_uri").or_else(|| text("verification_url"));
        let complete_url = text("verification_uri_complete");
        let interval = seconds(reply.body.get("interval"));
        let lifetime = seconds(reply.body.get("expires_in"));
        let missing = reply.nonsense("it contains no device code");
        reply.success()?;
        let (Some(device_code), Some(user_code), Some(url)) = (device_code, user_code, url) else {
            return Err(missing);
        };
        Self::new(device_code, &user_code, &url, complete_url.as_deref(), interval, lifetime)
    }

    /// Checks the addresses: they are shown and opened.
    pub(super) fn new(
        device_code: String,
        user_code: &str,
        url: &str,
        complete_url: Option<&str>,
        interval: Option<Duration>,
        lifetime: Option<Duration>,
    ) -> Result<Self, OauthError> {
        let complete = complete_url.and_then(|url| endpoint::checked(url).ok());
        Ok(Self {
            device_code,
            user_code: clean(user_code),
            verification_url: endpoint::checked(url)?.to_string(),
            complete_url: complete.map(|url| url.to_string()),
            interval: interval.unwrap_or(DEFAULT_INTERVAL).max(MIN_INTERVAL),
            lifetime: lifetime.unwrap_or(DEFAULT_LIFETIME).min(MAX_LIFETIME),
        })
    }

    pub(super) fn event(&self) -> LoginEvent {
        LoginEvent::DeviceCode {
            user_code: self.user_code.clone(),
            verification_url: self.verification_url.clone(),
            complete_url: self.complete_url.clone(),
            expires_in: self.lifetime,
        }
    }
}

/// Reads a number of seconds, which some servers send as text.
pub(super) fn seconds(value: Option<&Value>) -> Option<Duration> {
    let number = match value? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    Duration::try_from_secs_f64(number).ok()
}

/// Asks until the user has decided, or the code has expired. Waits before the first request: no
/// user is faster, and some servers punish it.
pub(super) async fn poll(
    mut interval: Duration,
    lifetime: Duration,
    mut ask: impl AsyncFnMut() -> Result<Reply, OauthError>,
) -> Result<Map<String, Value>, OauthError> {
    let deadline = Instant::now() + lifetime;
    let mut slowed = false;
    let mut failures = 0;
    loop {
        let remaining = deadline.saturating_duration_since(Instant::now());
        // The last request is sent within the lifetime, even if the interval is longer than the rest.
        let is_last = interval >= remaining;
        let pause = if is_last { remaining.saturating_sub(LAST_POLL) } else { interval };
        sleep(pause).await;
        let reply = match ask().await {
            Ok(reply) => Ok(reply),
            Err(error) if error.is_transient() => Err(error),
            Err(error) => return Err(error),
        };
        let failure = match reply {
            Ok(reply) => match reply.error_code() {
                Some("authorization_pending") => None,
                Some("slow_down") => {
                    let wanted = seconds(reply.body.get("interval"));
                    interval = wanted.unwrap_or(interval + SLOW_DOWN).max(MIN_INTERVAL);
                    slowed = true;
                    None
                }
                Some("expired_token") => return Err(expired(lifetime, slowed)),
                _ => match reply.success() {
                    Ok(body) => return Ok(body),
                    Err(error) if error.is_transient() => Some(error),
                    Err(error) => return Err(error),
                },
            },
            Err(error) => Some(error),
        };
        match failure {
            None => failures = 0,
            Some(error) => {
                failures += 1;
                if failures > MAX_FAILURES || is_last {
                    return Err(error);
                }
            }
        }
        if is_last {
            return Err(expired(lifetime, slowed));
        }
    }
}

fn expired(limit: Duration, slowed: bool) -> OauthError {
    let hint = if slowed {
        ". The server asked to slow down: if this repeats, check the clock of this machine, which \
         may run too fast (common in virtual machines)"
    } else {
        ""
    };
    OauthError::Expired { limit, hint }
}
