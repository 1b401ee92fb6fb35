//! The start of a conversation: which era, which version.
//!
//! A modern server answers `server/discover`; a legacy server answers it with any error, or not at
//! all. Servers that are slow to start do not answer either, so after a while both questions are
//! open and the first good answer decides.

use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use pi_base::unpoisoned;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::request::{Conversation, Draft, exchange, object};
use super::subscriptions::Listening;
use super::{CallOptions, Changed, Client, ClientError, ClientOptions, ConnectError, Facts, Inner};
use crate::error::invalid;
use crate::inbox::{Inbox, deliver_changes};
use crate::protocol::versions::{LEGACY, MODERN};
use crate::protocol::{DiscoverResult, Era, InitializeResult, errors, methods};
use crate::text::shown;
use crate::transport::{Link, Transport};

/// Pauses before the first request of a connection is repeated, if it failed for a reason that may
/// pass.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

impl Client {
    /// Connects to a server and finds out its era.
    pub async fn connect(
        transport: Transport,
        options: ClientOptions,
    ) -> Result<Self, ConnectError> {
        let inbox = Inbox::new(&options.handler, &options.capabilities);
        let link = transport.open(&inbox, &options.info);
        let start = Start { link: &link, inbox: &inbox, options: &options };
        let facts = match start.facts().await {
            Ok(facts) => facts,
            Err(error) => {
                inbox.stop();
                link.close().await;
                return Err(error);
            }
        };
        let client = Self(Arc::new(Inner {
            link,
            inbox,
            log_level: Mutex::new(options.log_level),
            options,
            facts: RwLock::new(facts),
            tools: Mutex::default(),
            subscriptions: Arc::default(),
            renewing: tokio::sync::Mutex::default(),
        }));
        tokio::spawn(deliver_changes(Arc::clone(&client.0.inbox)));
        client.listen().await;
        Ok(client)
    }

    /// Starts to hear of changes.
    async fn listen(&self) {
        let Inner { link, inbox, options, subscriptions, .. } = &*self.0;
        match self.era() {
            Era::Legacy => link.listen().await,
            Era::Modern => {
                let listening = Listening {
                    link: link.clone(),
                    inbox: Arc::clone(inbox),
                    options: options.clone(),
                    facts: self.facts(),
                    wanted: Arc::clone(subscriptions),
                };
                tokio::spawn(listening.run());
            }
        }
    }

    /// Makes a new handshake after the server forgot session `lost`. Subscriptions of the session
    /// are gone, so everything counts as changed.
    pub(super) async fn renew(&self, lost: u64) -> Result<(), ClientError> {
        let Inner { link, inbox, options, .. } = &*self.0;
        let _held = self.0.renewing.lock().await;
        if link.session_number() != lost {
            return Ok(());
        }
        let start = Start { link, inbox, options };
        let facts = start.initialize().await.map_err(|error| match error {
            ConnectError::Failed(error) => error,
            other => ClientError::Closed(other.to_string()),
        })?;
        *unpoisoned(self.0.facts.write()) = facts;
        link.listen().await;
        for changed in [Changed::Tools, Changed::Resources, Changed::Prompts] {
            inbox.changes.note(changed);
        }
        Ok(())
    }
}

/// A connection before its era is known.
pub(super) struct Start<'a> {
    pub(super) link: &'a Link,
    pub(super) inbox: &'a Inbox,
    pub(super) options: &'a ClientOptions,
}

/// Meaning of an answer to `server/discover`.
enum Judged {
    Modern(Box<Facts>),
    Legacy,
    Failed(ConnectError),
}

impl Start<'_> {
    async fn facts(&self) -> Result<Facts, ConnectError> {
        if self.options.known_era == Some(Era::Legacy) {
            return match self.initialize().await {
                // The assumption may be outdated.
                Err(ConnectError::Failed(ClientError::Remote(_) | ClientError::Http { .. })) => {
                    self.probe().await
                }
                other => other,
            };
        }
        self.probe().await
    }

    async fn probe(&self) -> Result<Facts, ConnectError> {
        let mut discovered = std::pin::pin!(self.discover());
        let is_silent = tokio::select! {
            biased;
            judged = &mut discovered => match judged {
                Judged::Modern(facts) => return Ok(*facts),
                Judged::Failed(error) => return Err(error),
                Judged::Legacy => false,
            },
            () = sleep(self.options.probe_wait), if self.link.is_stdio() => true,
        };
        if !is_silent {
            return self.initialize().await;
        }
        let mut initialized = std::pin::pin!(self.initialize());
        tokio::select! {
            biased;
            judged = &mut discovered => match judged {
                Judged::Modern(facts) => Ok(*facts),
                Judged::Legacy => initialized.await,
                Judged::Failed(failure) => {
                    initialized.await.map_err(|error| first_cause(failure, error))
                }
            },
            result = &mut initialized => match result {
                Ok(facts) => Ok(facts),
                Err(error) => match discovered.await {
                    Judged::Modern(facts) => Ok(*facts),
                    Judged::Legacy => Err(error),
                    Judged::Failed(failure) => Err(first_cause(failure, error)),
                },
            },
        }
    }

    /// Asks in the manner of the modern era.
    async fn discover(&self) -> Judged {
        let mut version = MODERN[0];
        for _ in 0..2 {
            let draft = Draft::new(methods::DISCOVER, Map::new());
            match self.send(Era::Modern, Some(version), &draft).await {
                Ok(result) => return judge(result),
                Err(ClientError::Remote(error)) if error.code == errors::UNSUPPORTED_VERSION => {
                    let supported = error.data.as_ref().and_then(|data| data.get("supported"));
                    let supported: Vec<String> = supported
                        .and_then(|all| serde_json::from_value(all.clone()).ok())
                        .unwrap_or_default();
                    match choose(&supported) {
                        Some((Era::Modern, chosen)) => version = chosen,
                        Some((Era::Legacy, _)) => return Judged::Legacy,
                        None => {
                            return Judged::Failed(unknown_versions(&supported));
                        }
                    }
                }
                Err(ClientError::Closed(reason)) if self.link.is_stdio() => {
                    return Judged::Failed(ConnectError::EndedAtProbe(reason));
                }
                Err(error) if is_final(&error, self.link.is_stdio()) => {
                    return Judged::Failed(ConnectError::Failed(error));
                }
                Err(_) => return Judged::Legacy,
            }
        }
        Judged::Failed(ConnectError::Versions(format!("{version}, but the server refuses it")))
    }

    /// Asks in the manner of the legacy era.
    pub(super) async fn initialize(&self) -> Result<Facts, ConnectError> {
        let params = object(json!({
            "protocolVersion": LEGACY[0],
            "capabilities": self.options.capabilities,
            "clientInfo": self.options.info,
        }));
        let draft = Draft::new(methods::INITIALIZE, params);
        let result = self.send(Era::Legacy, None, &draft).await?;
        let result: InitializeResult =
            serde_json::from_value(result).map_err(|error| unreadable(&error.to_string()))?;
        if !LEGACY.contains(&result.protocol_version.as_str()) {
            return Err(unknown_versions(&[result.protocol_version]));
        }
        self.link.set_version(&result.protocol_version);
        self.link.notify(methods::INITIALIZED, None).await?;
        Ok(Facts {
            era: Era::Legacy,
            version: result.protocol_version,
            server: Some(result.server_info),
            capabilities: result.capabilities,
            instructions: result.instructions,
        })
    }

    /// Sends a request, and again if it failed for a reason that may pass.
    async fn send(
        &self,
        era: Era,
        version: Option<&str>,
        draft: &Draft<'_>,
    ) -> Result<Value, ClientError> {
        let Self { link, inbox, options } = *self;
        let conversation = Conversation { link, inbox, options, era, version, log_level: None };
        let mut pauses = PAUSES.iter();
        loop {
            let result = exchange(&conversation, draft, &CallOptions::default()).await;
            match (&result, pauses.next()) {
                (Err(error), Some(pause)) if error.is_transient() => sleep(*pause).await,
                _ => return result,
            }
        }
    }
}

fn judge(result: Value) -> Judged {
    let Ok(found) = serde_json::from_value::<DiscoverResult>(result) else {
        return Judged::Legacy;
    };
    match choose(&found.supported_versions) {
        Some((Era::Modern, version)) => Judged::Modern(Box::new(Facts {
            era: Era::Modern,
            version: version.to_owned(),
            server: found.server_info(),
            capabilities: found.capabilities,
            instructions: found.instructions,
        })),
        Some((Era::Legacy, _)) => Judged::Legacy,
        None => Judged::Failed(unknown_versions(&found.supported_versions)),
    }
}

/// Chooses the newest version that both sides know.
fn choose(supported: &[String]) -> Option<(Era, &'static str)> {
    let known = MODERN.iter().chain(&LEGACY);
    let mut both = known.filter(|known| supported.iter().any(|one| one == *known));
    both.next().and_then(|version| Some((Era::of(version)?, *version)))
}

/// Returns true if the other question would fail as well, or must not be asked. Over pipes, only a
/// result and the refusal of a version are signs of the modern era.
fn is_final(error: &ClientError, is_stdio: bool) -> bool {
    match error {
        ClientError::Remote(error) => !is_stdio && errors::is_modern(error.code),
        ClientError::Network(_)
        | ClientError::Unauthorized(_)
        | ClientError::Redirected(_)
        | ClientError::Cancelled => true,
        _ => false,
    }
}

/// Returns the error of a server that answered neither question. If the server ended, it ended at
/// the first one, and may be started again without it.
fn first_cause(discover: ConnectError, initialize: ConnectError) -> ConnectError {
    match (discover, initialize) {
        (ended @ ConnectError::EndedAtProbe(_), ConnectError::Failed(ClientError::Closed(_))) => {
            ended
        }
        (_, error) => error,
    }
}

fn unknown_versions(versions: &[String]) -> ConnectError {
    ConnectError::Versions(shown(&versions.join(", ")))
}

fn unreadable(problem: &str) -> ConnectError {
    ConnectError::Failed(invalid(methods::INITIALIZE, problem))
}
