//! The runs of a server: those in progress, and the latest that have ended, within one budget.
//!
//! A run is one prompt in a session of the host, which is closed when the run has ended.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use pi_base::lock;
use pi_coding_agent::AgentSession;
use pi_protocol::CancelToken;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::ceiling::Wishes;
use crate::pool::Host;

/// The runs that are remembered after their end.
const REMEMBERED: usize = 200;

/// The sessions whose wishes are remembered.
const SESSIONS: usize = 1_000;

/// The runs of a server.
pub struct Runs {
    /// The beginning of the ids of runs.
    name: &'static str,
    host: Host,
    most: usize,
    /// The most that all runs can cost, in US dollars.
    budget: Option<f64>,
    state: Mutex<State>,
    in_progress: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    records: VecDeque<Record>,
    /// Wishes of callers for the latest run of a session.
    wishes: VecDeque<(String, Wishes)>,
    next: u64,
    /// The cost of the runs that have ended, in US dollars.
    spent: f64,
}

/// A run, as callers see it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunStatus {
    /// Id of the run.
    pub id: String,
    /// Id of its session; empty before the session is open.
    pub session: String,
    /// Working directory.
    pub cwd: PathBuf,
    /// Time of the start.
    pub started: jiff::Timestamp,
    /// The line of the latest tool call.
    pub doing: String,
    /// The report; `None` while the run is in progress.
    pub report: Option<Value>,
}

struct Record {
    status: RunStatus,
    /// Cancelled with the request of the caller, or by an abort. It counts also while no session can
    /// be aborted: before it starts, and between two prompts.
    cancel: CancelToken,
    /// The part of the budget that the run can use.
    reserved: f64,
    /// The cost of the session before the run.
    earlier: f64,
    /// In progress until it is dropped.
    agent: Option<AgentSession>,
}

impl Record {
    fn is_in_progress(&self) -> bool {
        self.status.report.is_none()
    }
}

/// A place among the runs in progress, given back when it is dropped.
pub struct RunPlace {
    runs: Arc<Runs>,
    id: String,
    cancel: CancelToken,
    reserved: Option<f64>,
}

impl Runs {
    /// Creates the runs of a host: at most so many at a time, which cost at most so many US dollars
    /// together. Their ids begin with `name`.
    pub fn new(name: &'static str, host: Host, most: usize, budget: Option<f64>) -> Arc<Self> {
        let (state, in_progress) = (Mutex::default(), watch::Sender::new(0));
        Arc::new(Self { name, host, most, budget, state, in_progress })
    }

    /// Returns the host with the sessions of the runs.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Takes a place for a run that costs at most `cost` dollars. The error is a message for the
    /// caller.
    pub fn take(
        self: &Arc<Self>,
        session: Option<&str>,
        cwd: PathBuf,
        cancel: CancelToken,
        cost: Option<f64>,
    ) -> Result<RunPlace, String> {
        let mut state = self.lock();
        let in_progress = state.records.iter().filter(|run| run.is_in_progress());
        if in_progress.clone().count() >= self.most {
            let most = self.most;
            return Err(format!("{most} runs are in progress; wait for one or abort it"));
        }
        if session
            .is_some_and(|session| in_progress.clone().any(|run| run.status.session == session))
        {
            return Err("a run of this session is in progress; wait for it or abort it".to_owned());
        }
        let reserved: f64 = in_progress.clone().map(|run| run.reserved).sum();
        let reserved = match self.budget.map(|budget| budget - state.spent) {
            None => None,
            Some(left) if left <= 0.0 => {
                return Err("the budget of this server is used up".to_owned());
            }
            Some(left) if left <= reserved => {
                let rest = "runs in progress may use the rest of the budget of this server";
                return Err(format!("{rest}; wait for one, and give lower limits"));
            }
            Some(left) => Some(cost.map_or(left - reserved, |cost| cost.min(left - reserved))),
        };
        state.next += 1;
        let id = format!("{}-{}-{}", self.name, std::process::id(), state.next);
        let status = RunStatus {
            id: id.clone(),
            session: session.unwrap_or_default().to_owned(),
            cwd,
            started: jiff::Timestamp::now(),
            doing: "starting".to_owned(),
            report: None,
        };
        state.records.push_back(Record {
            status,
            cancel: cancel.clone(),
            reserved: reserved.unwrap_or_default(),
            earlier: 0.0,
            agent: None,
        });
        while state.records.len() > REMEMBERED + self.most {
            let ended = state.records.iter().position(|run| !run.is_in_progress());
            ended.and_then(|at| state.records.remove(at));
        }
        drop(state);
        self.in_progress.send_modify(|count| *count += 1);
        Ok(RunPlace { runs: Arc::clone(self), id, cancel, reserved })
    }

    /// Aborts the run of a session. Returns false if none is in progress.
    pub fn abort(&self, session: &str) -> bool {
        // A run without a session yet has no id that could be given.
        !session.is_empty() && self.abort_where(|run| run.status.session == session)
    }

    /// Aborts all runs.
    pub fn abort_all(&self) {
        self.abort_where(|_| true);
    }

    fn abort_where(&self, is_chosen: impl Fn(&Record) -> bool) -> bool {
        let state = self.lock();
        let chosen = state.records.iter().filter(|run| run.is_in_progress() && is_chosen(run));
        let chosen: Vec<_> = chosen.map(|run| (run.cancel.clone(), run.agent.clone())).collect();
        drop(state);
        for (cancel, agent) in &chosen {
            cancel.cancel();
            agent.iter().for_each(AgentSession::request_abort);
        }
        !chosen.is_empty()
    }

    /// Returns what a caller wished for the latest run of a session.
    pub fn wishes(&self, session: &str) -> Wishes {
        let state = self.lock();
        let known = state.wishes.iter().find(|(id, _)| id == session);
        known.map(|(_, wishes)| wishes.clone()).unwrap_or_default()
    }

    /// Waits until no run is in progress.
    pub async fn idle(&self) {
        // The sender lives as long as the runs.
        let _ = self.in_progress.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Returns the runs of a session, or all, the newest first.
    pub fn list(&self, session: Option<&str>) -> Vec<RunStatus> {
        let state = self.lock();
        let all = state.records.iter().rev().map(|run| &run.status);
        all.filter(|run| session.is_none_or(|session| run.session == session)).cloned().collect()
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Record)) {
        if let Some(record) = self.lock().records.iter_mut().find(|run| run.status.id == id) {
            change(record);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl std::fmt::Debug for Runs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let in_progress = *self.in_progress.borrow();
        f.debug_struct("Runs").field("in_progress", &in_progress).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for RunPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RunPlace").field(&self.id).finish()
    }
}

impl RunPlace {
    /// Returns the id of the run.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the part of the budget that the run can use, in US dollars, if there is a budget.
    pub fn reserved(&self) -> Option<f64> {
        self.reserved
    }

    /// Returns the token that is cancelled when the run has to end.
    pub fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// Notes the session of the run, and what the caller wished for it.
    pub fn begin(&self, agent: &AgentSession, wishes: Wishes) {
        let (session, earlier, agent) = (agent.id(), cost(agent), agent.clone());
        let mut state = self.runs.lock();
        state.wishes.retain(|(id, _)| *id != session);
        state.wishes.push_back((session.clone(), wishes));
        if state.wishes.len() > SESSIONS {
            state.wishes.pop_front();
        }
        drop(state);
        self.runs.change(&self.id, |run| {
            run.status.session = session;
            run.earlier = earlier;
            run.agent = Some(agent);
        });
    }

    /// Gives the place back before anything ran. The run is not listed any more.
    pub fn withdraw(self) {
        self.runs.lock().records.retain(|run| run.status.id != self.id);
    }

    /// Returns a function that notes what the run does.
    pub fn notes(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let (runs, id) = (Arc::clone(&self.runs), self.id.clone());
        move |line| runs.change(&id, |run| line.clone_into(&mut run.status.doing))
    }

    /// Keeps the report of the run, and releases its session.
    pub fn report(&self, report: Value) {
        self.end(Some(report));
    }

    /// Ends the run, unless it has ended. Returns its session with the id.
    fn end(&self, report: Option<Value>) -> Option<(AgentSession, String)> {
        let is_own = |run: &Record| run.status.id == self.id;
        let state = self.runs.lock();
        let run = state.records.iter().find(|run| is_own(run))?;
        let (agent, earlier) = (run.agent.clone(), run.earlier);
        drop(state);
        // Without the lock: the session may wait for it to note something.
        let spent = agent.as_ref().map_or(0.0, |agent| cost(agent) - earlier).max(0.0);
        let mut state = self.runs.lock();
        let run = state.records.iter_mut().find(|run| is_own(run))?;
        let RunStatus { id, session, .. } = &run.status;
        let none = json!({ "runId": id, "sessionId": session, "outcome": "failed" });
        let session = session.clone();
        run.status.report.get_or_insert(report.unwrap_or(none));
        run.agent = None;
        state.spent += spent;
        Some((agent?, session))
    }
}

/// Returns what a session has cost, in US dollars.
fn cost(agent: &AgentSession) -> f64 {
    agent.totals().map(|totals| totals.stats.cost).unwrap_or_default()
}

impl Drop for RunPlace {
    fn drop(&mut self) {
        // A run that was given up ends as well, and its session with it.
        if let Some((agent, id)) = self.end(None) {
            agent.request_abort();
            let host = self.runs.host.clone();
            tokio::spawn(async move { host.close(&id).await });
        }
        self.runs.in_progress.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use pi_coding_agent::Environment;

    use super::*;
    use crate::{HostOptions, OpenError};

    fn runs_of(most: usize, budget: Option<f64>) -> Arc<Runs> {
        let refuse = |_| Box::pin(async { Err(OpenError::TooMany(0)) }) as _;
        let environment = Environment::new("/project", "/agent");
        Runs::new("run", Host::new(HostOptions::new(Arc::new(refuse), environment)), most, budget)
    }

    fn take(runs: &Arc<Runs>, session: &str, cost: Option<f64>) -> Result<RunPlace, String> {
        runs.take(Some(session), PathBuf::from("/project"), CancelToken::new(), cost)
    }

    #[test]
    fn an_abort_counts_before_the_session_starts() {
        let runs = runs_of(2, None);
        let (one, other) = (take(&runs, "a", None).unwrap(), take(&runs, "b", None).unwrap());
        assert!(!runs.abort("") && !runs.abort("c"));
        assert!(runs.abort("a"));
        assert!(one.cancel().is_cancelled() && !other.cancel().is_cancelled());
        one.report(json!({ "outcome": "aborted" }));
        assert!(!runs.abort("a"));
        runs.abort_all();
        assert!(other.cancel().is_cancelled());
    }

    #[test]
    fn runs_share_the_budget() {
        let runs = runs_of(9, Some(3.0));
        let first = take(&runs, "a", Some(2.0)).unwrap();
        assert_eq!(first.reserved(), Some(2.0));
        // The rest, for a run without a limit of its own.
        let second = take(&runs, "b", None).unwrap();
        assert_eq!(second.reserved(), Some(1.0));
        let Err(problem) = take(&runs, "c", Some(0.5)) else { panic!("a place") };
        assert!(problem.contains("may use the rest"), "{problem}");
        drop(first);
        assert_eq!(take(&runs, "d", Some(5.0)).unwrap().reserved(), Some(2.0));
        runs.lock().spent = 3.0;
        let Err(problem) = take(&runs, "e", Some(0.5)) else { panic!("a place") };
        assert!(problem.contains("used up"), "{problem}");
        assert_eq!(take(&runs_of(1, None), "f", Some(0.5)).unwrap().reserved(), None);
    }
}
