//! Changes that a client asks to hear of: `resources/subscribe` in the legacy era, one stream of
//! `subscriptions/listen` in the modern one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_base::lock;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::request::{Conversation, Draft, LONGEST, exchange, object};
use super::{CallOptions, Changed, Client, ClientError, ClientOptions, Facts};
use crate::inbox::Inbox;
use crate::protocol::{Era, ListChanged, ServerCapabilities, SubscriptionFilter, methods};
use crate::transport::Link;

/// The most resources that a client asks to hear of.
const MAX_RESOURCES: usize = 1_000;
/// The first and the longest pause before a stream is opened again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Resources that a client of a modern server wants to hear of.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    uris: Mutex<BTreeSet<String>>,
    changed: Notify,
}

impl Client {
    /// Asks to hear of changes of a resource.
    pub async fn subscribe(&self, uri: &str) -> Result<(), ClientError> {
        if self.era() == Era::Legacy {
            return self
                .acknowledged(methods::RESOURCES_SUBSCRIBE, object(json!({ "uri": uri })))
                .await;
        }
        let wanted = &self.0.subscriptions;
        {
            let mut uris = lock(&wanted.uris);
            if uris.len() >= MAX_RESOURCES {
                let problem = format!("more than {MAX_RESOURCES} subscriptions");
                return Err(ClientError::TooLarge(problem));
            }
            uris.insert(uri.to_owned());
        }
        wanted.changed.notify_one();
        Ok(())
    }
}

/// The stream of changes of a modern server. It does not keep the client alive.
pub(super) struct Listening {
    pub(super) link: Link,
    pub(super) inbox: Arc<Inbox>,
    pub(super) options: ClientOptions,
    pub(super) facts: Facts,
    pub(super) wanted: Arc<Subscriptions>,
}

impl Listening {
    /// Listens until the client ends.
    pub(super) async fn run(self) {
        let stopped = self.inbox.stopped().cancelled();
        tokio::select! {
            () = stopped => {}
            () = self.listen() => {}
        }
    }

    async fn listen(&self) {
        let mut pause = PAUSES.0;
        loop {
            let filter = self.filter();
            if filter.is_empty() {
                self.wanted.changed.notified().await;
                continue;
            }
            let start = Instant::now();
            let ended = tokio::select! {
                () = self.wanted.changed.notified() => continue,
                ended = self.listen_once(&filter) => ended,
            };
            if let Err(error @ (ClientError::Remote(_) | ClientError::Unauthorized(_))) = &ended {
                // The server does not want to: asking again would change nothing.
                let problem = format!("the server announces no changes: {error}");
                self.inbox.handler.problem(&problem);
                self.wanted.changed.notified().await;
                continue;
            }
            if start.elapsed() > PAUSES.1 {
                pause = PAUSES.0;
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
            self.note_all(&filter);
        }
    }

    async fn listen_once(&self, filter: &SubscriptionFilter) -> Result<Value, ClientError> {
        let conversation = Conversation {
            link: &self.link,
            inbox: &self.inbox,
            options: &self.options,
            era: Era::Modern,
            version: Some(&self.facts.version),
            log_level: None,
        };
        let draft = Draft::new(methods::LISTEN, object(json!({ "notifications": filter })));
        let call = CallOptions { timeout: Some(LONGEST), ..CallOptions::default() };
        exchange(&conversation, &draft, &call).await
    }

    /// Returns what is worth listening for at this server.
    fn filter(&self) -> SubscriptionFilter {
        let announces =
            |one: &Option<ListChanged>| one.as_ref().is_some_and(|one| one.list_changed);
        let ServerCapabilities { tools, prompts, resources, .. } = &self.facts.capabilities;
        let uris = lock(&self.wanted.uris);
        SubscriptionFilter {
            tools_list_changed: announces(tools),
            prompts_list_changed: announces(prompts),
            resources_list_changed: announces(resources),
            resource_subscriptions: uris.iter().cloned().collect(),
            task_ids: Vec::new(),
        }
    }

    /// Takes everything as changed: notices may be lost between two streams.
    fn note_all(&self, filter: &SubscriptionFilter) {
        let lists = [
            (filter.tools_list_changed, Changed::Tools),
            (filter.prompts_list_changed, Changed::Prompts),
            (filter.resources_list_changed, Changed::Resources),
        ];
        let lists = lists.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, one)| one);
        let resources = filter.resource_subscriptions.iter().cloned().map(Changed::Resource);
        for changed in lists.chain(resources) {
            self.inbox.changes.note(changed);
        }
    }
}
