//! `subscriptions/listen`: the changes that a modern client asked for.

use std::collections::HashSet;

use pi_jsonrpc::{Error, Id};
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::Server;
use super::drive::Outlet;
use super::service::{Change, Offers};
use super::session::notice;
use crate::protocol::{meta, methods};

/// The most resources of a subscription.
const RESOURCES: usize = 1_000;

/// Subscriptions of a client, as far as the server offers them.
#[derive(Debug, Default)]
pub(super) struct Filter {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: HashSet<String>,
}

impl Filter {
    /// Reads the filter of a request.
    pub(super) fn read(params: Option<&Value>, offers: Offers) -> Result<Self, Error> {
        let wanted = params.and_then(|params| params.get("notifications"));
        let Some(wanted) = wanted.filter(|wanted| wanted.is_object()) else {
            return Err(Error::invalid_params("`notifications` is required"));
        };
        let flag = |name: &str| offers.changes && wanted[name].as_bool() == Some(true);
        let uris = wanted["resourceSubscriptions"].as_array().into_iter().flatten();
        let uris: HashSet<String> =
            uris.filter_map(Value::as_str).take(RESOURCES + 1).map(str::to_owned).collect();
        if uris.len() > RESOURCES {
            return Err(Error::invalid_params("too many resources in one subscription"));
        }
        Ok(Self {
            tools: offers.tools && flag("toolsListChanged"),
            prompts: offers.prompts && flag("promptsListChanged"),
            resources: offers.resources && flag("resourcesListChanged"),
            uris: if offers.resources && offers.changes { uris } else { HashSet::new() },
        })
    }

    fn wants(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource { uri } => self.uris.contains(uri),
        }
    }

    /// Returns all changes that the client wants to hear about.
    fn everything(&self) -> Vec<Change> {
        let lists = [Change::Tools, Change::Prompts, Change::Resources];
        let lists = lists.into_iter().filter(|change| self.wants(change));
        lists.chain(self.uris.iter().cloned().map(|uri| Change::Resource { uri })).collect()
    }

    /// Returns the filter as the client is told.
    fn granted(&self) -> Value {
        let mut granted = json!({});
        let flags = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        for (name, _) in flags.iter().filter(|(_, is_granted)| *is_granted) {
            granted[*name] = json!(true);
        }
        if !self.uris.is_empty() {
            granted["resourceSubscriptions"] = json!(self.uris);
        }
        granted
    }
}

/// Sends changes until the server ends; the caller drops it when the client is gone.
pub(super) async fn listen(
    server: &Server,
    filter: Filter,
    id: &Id,
    outlet: &dyn Outlet,
) -> Result<Value, Error> {
    let changes = server.changes().subscribe();
    let acknowledged = pi_jsonrpc::Notification {
        method: methods::ACKNOWLEDGED.to_owned(),
        params: Some(
            json!({ "notifications": filter.granted(), "_meta": { meta::SUBSCRIPTION_ID: id } }),
        ),
    };
    outlet.notify(acknowledged).await;
    forward(changes, &filter, id, outlet).await;
    Ok(json!({ "resultType": "complete", "_meta": { meta::SUBSCRIPTION_ID: id } }))
}

async fn forward(
    mut changes: broadcast::Receiver<Change>,
    filter: &Filter,
    id: &Id,
    outlet: &dyn Outlet,
) {
    loop {
        let change = match changes.recv().await {
            Ok(change) => change,
            // What was missed may have been anything.
            Err(RecvError::Lagged(_)) => {
                for change in filter.everything() {
                    tell(&change, id, outlet).await;
                }
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        if filter.wants(&change) {
            tell(&change, id, outlet).await;
        }
    }
}

async fn tell(change: &Change, id: &Id, outlet: &dyn Outlet) {
    let mut notification = notice(change);
    if let Some(params) = &mut notification.params {
        params["_meta"] = json!({ meta::SUBSCRIPTION_ID: id });
    }
    outlet.notify(notification).await;
}
