//! Opening the parts of a session.

use std::sync::{Arc, OnceLock};

use pi_coding_agent::guard::Approvals;
use pi_coding_agent::{SessionSelector, WrapExecutor};
use pi_jsonrpc::Error;
use pi_tools::Executor;

use super::{Live, OpenPlan};
use crate::client::Client;
use crate::config;
use crate::errors::open_error;
use crate::events::Reporter;
use crate::executor::{Bound, ClientExecutor, Through};
use crate::options::{OpenRequest, Opened};
use crate::ui::ClientUi;

/// A session that was opened.
pub(super) struct Started {
    pub(super) live: Live,
    /// Id for the client.
    pub(super) id: String,
    /// Messages that the user should read.
    pub(super) notices: Vec<String>,
}

/// Opens the parts of a session. `id` is the one by which the client knows it, if it does: an
/// extension may have replaced the log meanwhile.
pub(super) async fn start(
    client: &Client,
    plan: &Arc<OpenPlan>,
    session: SessionSelector,
    id: Option<&str>,
    profile: Option<&str>,
    ui: &Arc<ClientUi>,
    approvals: &Approvals,
) -> Result<Started, Error> {
    let bound: Bound = Arc::new(OnceLock::new());
    let request = OpenRequest {
        cwd: plan.cwd.clone(),
        session,
        profile: profile.map(str::to_owned),
        additional_directories: plan.additional_directories.clone(),
        mcp_servers: plan.mcp_servers.clone(),
        ui: Arc::clone(ui) as Arc<_>,
        approvals: approvals.clone(),
        wrap_executor: wrap(client, plan.through, &bound),
    };
    let opened = (plan.open)(request).await;
    let Opened { runtime, notices } = opened.map_err(open_error)?;
    let agent = runtime.session();
    let id = id.map_or_else(|| agent.id(), str::to_owned);
    let profile = match agent.guard() {
        Some(guard) => guard.plan().profile.as_str().to_owned(),
        None => config::PROFILES[0].0.to_owned(),
    };
    ui.bind(&id, runtime.downgrade());
    let reporter = Arc::new(Reporter::new(client.clone(), id.clone(), runtime.downgrade()));
    reporter.set_profile(&profile, &plan.profiles);
    // Set once, just now.
    let _ = bound.set((id.clone(), Arc::clone(&reporter)));
    let events = runtime.add_listener(Arc::clone(&reporter) as Arc<_>);
    let live = Live { runtime, reporter, profile, plan: Arc::clone(plan), _events: events };
    Ok(Started { live, id, notices })
}

/// Returns the wrapper of the executor; `None` if nothing goes through the client.
fn wrap(client: &Client, through: Through, bound: &Bound) -> Option<WrapExecutor> {
    if !through.reads && !through.writes && !through.commands {
        return None;
    }
    let (client, bound) = (client.clone(), Arc::clone(bound));
    Some(Arc::new(move |inner: Arc<dyn Executor>| {
        let (client, bound) = (client.clone(), Arc::clone(&bound));
        Arc::new(ClientExecutor { inner, client, bound, through }) as Arc<dyn Executor>
    }))
}
