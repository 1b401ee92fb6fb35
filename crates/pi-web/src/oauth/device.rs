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
    let mut polling = Polling::new(&code);
    loop {
        sleep(polling.pause()).await;
        let reply =
            endpoint::post(flow.web, token_url, service.encoding(), &params, &headers).await;
        if let Some(response) = polling.read(reply)? {
            return Ok(response);
        }
    }
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

/// The rhythm of the requests until the user has decided, or the code has expired.
///
/// The caller waits for [`Polling::pause`], sends a request and passes the answer to
/// [`Polling::read`]. It also waits before the first request: no user is faster, and some servers
/// punish it.
pub(super) struct Polling {
    interval: Duration,
    lifetime: Duration,
    deadline: Instant,
    /// The next answer is the last one within the lifetime.
    is_last: bool,
    was_slowed: bool,
    /// Failures of the connection in a row.
    failures: u32,
}

impl Polling {
    pub(super) fn new(code: &DeviceCode) -> Self {
        Self {
            interval: code.interval,
            lifetime: code.lifetime,
            deadline: Instant::now() + code.lifetime,
            is_last: false,
            was_slowed: false,
            failures: 0,
        }
    }

    /// Returns the time to wait. The last request is sent within the lifetime, even if the interval
    /// is longer than the rest of it.
    pub(super) fn pause(&mut self) -> Duration {
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        self.is_last = self.interval >= remaining;
        if self.is_last { remaining.saturating_sub(LAST_POLL) } else { self.interval }
    }

    /// Reads an answer. Returns the token response, or `None` if the user has not decided yet.
    pub(super) fn read(
        &mut self,
        reply: Result<Reply, OauthError>,
    ) -> Result<Option<Map<String, Value>>, OauthError> {
        let result = reply.and_then(|reply| self.read_reply(reply));
        match result {
            Ok(Some(response)) => return Ok(Some(response)),
            Ok(None) => self.failures = 0,
            Err(error) => {
                self.failures += 1;
                if !error.is_transient() || self.failures > MAX_FAILURES || self.is_last {
                    return Err(error);
                }
            }
        }
        if self.is_last { Err(self.expired()) } else { Ok(None) }
    }

    fn read_reply(&mut self, reply: Reply) -> Result<Option<Map<String, Value>>, OauthError> {
        match reply.error_code() {
            Some("authorization_pending") => Ok(None),
            Some("slow_down") => {
                let wanted = seconds(reply.body.get("interval"));
                self.interval = wanted.unwrap_or(self.interval + SLOW_DOWN).max(MIN_INTERVAL);
                self.was_slowed = true;
                Ok(None)
            }
            Some("expired_token") => Err(self.expired()),
            _ => reply.success().map(Some),
        }
    }

    fn expired(&self) -> OauthError {
        let hint = if self.was_slowed {
            ". The server asked to slow down: if this repeats, check the clock of this machine, \
             which may run too fast (common in virtual machines)"
        } else {
            ""
        };
        OauthError::Expired { limit: self.lifetime, hint }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Polls with scripted answers; returns the result and the seconds of all polls.
    async fn run(
        interval: u64,
        lifetime: u64,
        answers: Vec<Result<Value, OauthError>>,
    ) -> (Result<Map<String, Value>, OauthError>, Vec<u64>) {
        let start = Instant::now();
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let url = "https://example.com";
        let code =
            DeviceCode::new("d".to_owned(), "u", url, None, seconds(interval), seconds(lifetime));
        let mut polling = Polling::new(&code.unwrap());
        let mut times = Vec::new();
        let mut answers = answers.into_iter();
        loop {
            sleep(polling.pause()).await;
            times.push(start.elapsed().as_secs());
            let answer = answers.next().unwrap_or_else(pending);
            let reply = answer.map(|answer| {
                let status = if answer.get("error").is_some() { 400 } else { 200 };
                Reply::scripted(status, &answer)
            });
            match polling.read(reply) {
                Ok(None) => {}
                Ok(Some(response)) => return (Ok(response), times),
                Err(error) => return (Err(error), times),
            }
        }
    }

    fn offline() -> Result<Value, OauthError> {
        Err(OauthError::Connection { host: "h".to_owned(), problem: "offline".to_owned() })
    }

    fn error(code: &str) -> Result<Value, OauthError> {
        Ok(json!({"error": code}))
    }

    #[tokio::test(start_paused = true)]
    async fn polls_keep_the_interval() {
        let answers = vec![error("authorization_pending"), Ok(json!({"access_token": "a"}))];
        let (result, times) = run(5, 600, answers).await;
        assert!(result.is_ok());
        assert_eq!(times, [5, 10]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_slows_polls_down() {
        let answers = vec![
            error("slow_down"),
            Ok(json!({"error": "slow_down", "interval": 20})),
            error("authorization_pending"),
            Ok(json!({"error": "slow_down", "interval": 0})),
            Ok(json!({"access_token": "a"})),
        ];
        let (result, times) = run(5, 600, answers).await;
        assert!(result.is_ok());
        // 5, then 5 + 5, then 20 twice, then at least one second.
        assert_eq!(times, [5, 15, 35, 55, 56]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_poll_is_within_the_lifetime() {
        let (result, times) = run(5, 12, Vec::new()).await;
        assert_eq!(times, [5, 10, 11]);
        let error = result.unwrap_err().to_string();
        assert_eq!(error, "the login was not completed within a minute");
        let (_, times) = run(60, 30, Vec::new()).await;
        assert_eq!(times, [29]);
        let (result, times) = run(5, 12, vec![pending(), pending(), Ok(json!({}))]).await;
        assert!(result.is_ok());
        assert_eq!(times, [5, 10, 11]);
        let (_, times) = run(5, 0, Vec::new()).await;
        assert_eq!(times, [0]);
    }

    fn pending() -> Result<Value, OauthError> {
        error("authorization_pending")
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_end_after_slow_downs_names_the_clock() {
        let (result, _) = run(5, 60, vec![error("slow_down")]).await;
        let error = result.unwrap_err().to_string();
        assert!(error.contains("check the clock of this machine"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_broken_connection_is_tolerated_for_a_while() {
        let mut answers: Vec<_> = (0..5).map(|_| offline()).collect();
        answers.push(Ok(json!({"access_token": "a"})));
        assert!(run(5, 600, answers).await.0.is_ok());
        let answers: Vec<_> = (0..7).map(|_| offline()).collect();
        let (result, times) = run(5, 600, answers).await;
        assert_eq!(result.unwrap_err().to_string(), "h: offline");
        assert_eq!(times.len(), 6);
    }

    #[test]
    fn seconds_are_read_from_numbers_and_texts() {
        for (value, expected) in [
            (json!(5), Some(5)),
            (json!("7"), Some(7)),
            (json!(-1), None),
            (json!("x"), None),
            (json!(1e300), None),
            (json!(null), None),
        ] {
            assert_eq!(seconds(Some(&value)), expected.map(Duration::from_secs), "{value}");
        }
    }
}
