//! Tools, resources and prompts, as the protocol sees them.

use std::path::Path;
use std::sync::Arc;

use pi_coding_agent::SessionSelector;
use pi_coding_agent::extension::RunMode;
use pi_host::ceiling::{Wishes, limit_cost};
use pi_host::{Host, RunStatus, Runs};
use pi_jsonrpc::Error;
use pi_mcp::BoxFuture;
use pi_mcp::server::{
    About, Change, Context, Listing, Offers, Service, error_result, unknown_resource,
};
use pi_session::{SessionInfo, directory_from_text};
use serde_json::{Map, Value, json};

use super::super::hosting;
use super::arguments::Given;
use super::perform::Work;
use super::plan::Plan;
use super::{sessions, templates, tools};

const INSTRUCTIONS: &str = "pi is a coding agent. Give it a task with `run`; it works in a \
    directory and answers when it has ended. Continue with `reply` and the sessionId of the \
    result. `status` lists runs, `abort` ends one.";

/// The service of the server.
pub(super) struct PiService {
    plan: Arc<Plan>,
    runs: Arc<Runs>,
}

impl PiService {
    pub(super) fn new(plan: Plan) -> Self {
        let (arguments, environment) = (Arc::clone(&plan.arguments), plan.environment.clone());
        let mut options = hosting::host(arguments, environment, RunMode::Print);
        // The runs have a limit of their own.
        options.most = usize::MAX;
        let runs = Runs::new("mcp", Host::new(options), plan.max_runs, plan.max_total_cost);
        Self { plan: Arc::new(plan), runs }
    }

    pub(super) fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Reads files of the user on a thread of its own.
    async fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Plan) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let plan = Arc::clone(&self.plan);
        let read = tokio::task::spawn_blocking(move || read(&plan)).await;
        read.map_err(|_| Error::internal("Reading failed"))
    }

    /// Returns the sessions that callers can see, the newest first.
    async fn visible(&self) -> Result<Vec<SessionInfo>, Error> {
        let mut sessions = self.runs.host().stored(None).await.map_err(Error::internal)?;
        sessions.retain(|session| {
            let directory = directory_from_text(&session.cwd);
            !session.cwd.is_empty() && self.plan.directories.allows(&directory)
        });
        Ok(sessions)
    }

    /// Finds a session by its exact id.
    async fn find(&self, id: &str) -> Result<Option<SessionInfo>, Error> {
        Ok(self.visible().await?.into_iter().find(|session| session.id == id))
    }

    /// Returns the sessions as resources.
    async fn listed(&self) -> Result<Vec<Value>, Error> {
        let sessions = self.visible().await?;
        self.reading(move |_| sessions::list(sessions)).await
    }

    /// Calls a tool. The outer error is for the protocol, the inner one for the model.
    async fn tool(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: &Context,
    ) -> Result<Result<Value, String>, Error> {
        Ok(match name {
            "run" => self.run(arguments, context).await?,
            "reply" => self.reply(arguments, context).await?,
            "status" => self.status(arguments),
            "abort" => self.abort(arguments),
            _ => return Err(Error::invalid_params(format_args!("unknown tool: {name}"))),
        })
    }

    async fn run(
        &self,
        arguments: Map<String, Value>,
        context: &Context,
    ) -> Result<Result<Value, String>, Error> {
        let work = match self.work(arguments) {
            Ok(work) => work,
            Err(problem) => return Ok(Err(problem)),
        };
        self.perform(work, None, context).await
    }

    /// Makes the work of `run`: at most what the command line gives.
    fn work(&self, arguments: Map<String, Value>) -> Result<Work, String> {
        let known = ["prompt", "cwd", "model", "profile", "limits", "output_schema"];
        let given = Given::new(arguments, &known)?;
        let wished = given.text("cwd")?;
        let directory = self.plan.directories.choose(wished, &self.plan.environment);
        let directory = directory.map_err(|error| error.to_string())?;
        self.prepare(&given, &directory, SessionSelector::New, wishes(&given)?)
    }

    fn prepare(
        &self,
        given: &Given,
        directory: &Path,
        session: SessionSelector,
        wishes: Wishes,
    ) -> Result<Work, String> {
        let prompt = given.prompt()?.to_owned();
        let (mut options, ceiling) = self.plan.options(directory);
        if let Some(model) = given.text("model")? {
            if options.model.requested.is_some() {
                return Err("the model of this server is fixed; leave out model".to_owned());
            }
            options.model.requested = Some(model.to_owned());
        }
        options.project.change_overrides(|settings| ceiling.narrow(&wishes, settings))?;
        options.session.selector = session;
        let schema = given.object("output_schema")?.cloned();
        let cost = ceiling.cost(&wishes);
        Ok(Work { options, prompt, schema, wishes, cost })
    }

    async fn reply(
        &self,
        arguments: Map<String, Value>,
        context: &Context,
    ) -> Result<Result<Value, String>, Error> {
        let known = ["sessionId", "prompt", "model", "profile", "limits", "output_schema"];
        let given = match Given::new(arguments, &known) {
            Ok(given) => given,
            Err(problem) => return Ok(Err(problem)),
        };
        let id = match given.session() {
            Ok(id) => id.to_owned(),
            Err(problem) => return Ok(Err(problem)),
        };
        let Some(session) = self.find(&id).await? else { return Ok(Err(unknown_session())) };
        let work = match self.continuation(&given, &session) {
            Ok(work) => work,
            Err(problem) => return Ok(Err(problem)),
        };
        self.perform(work, Some(&session.id), context).await
    }

    /// Makes the work of `reply`. What the caller wished for the session still holds.
    fn continuation(&self, given: &Given, session: &SessionInfo) -> Result<Work, String> {
        let directory = self.plan.directories.resolve(&directory_from_text(&session.cwd));
        let directory = directory.map_err(|error| error.to_string())?;
        let wishes = wishes(given)?.after(self.runs.wishes(&session.id));
        let path = session.path.to_string_lossy().into_owned();
        self.prepare(given, &directory, SessionSelector::Existing(path), wishes)
    }

    async fn perform(
        &self,
        mut work: Work,
        session: Option<&str>,
        context: &Context,
    ) -> Result<Result<Value, String>, Error> {
        let cwd = work.options.environment().cwd.clone();
        let place = match self.runs.take(session, cwd, context.cancel().child(), work.cost) {
            Ok(place) => place,
            Err(problem) => return Ok(Err(problem)),
        };
        if let Some(cost) = place.reserved() {
            work.options.project.change_overrides(|settings| limit_cost(settings, cost));
        }
        // Within the place, so that callers cannot have any number of schemas compiled.
        let prepared = match work.prepare().await {
            Ok(prepared) => prepared,
            Err(problem) => {
                place.withdraw();
                return Ok(Err(problem));
            }
        };
        if context.can_start_task() {
            context.start_task().await?;
        }
        let result = Box::pin(prepared.perform(&self.plan, self.runs.host(), place, context)).await;
        if let Some(id) = result["structuredContent"]["sessionId"].as_str() {
            context.changed(Change::Resource { uri: sessions::session_uri(id) });
        }
        context.changed(Change::Resources);
        Ok(Ok(result))
    }

    fn status(&self, arguments: Map<String, Value>) -> Result<Value, String> {
        let given = Given::new(arguments, &["sessionId"])?;
        let runs = self.runs.list(given.text("sessionId")?);
        let runs = json!({ "runs": runs.iter().map(describe).collect::<Vec<_>>() });
        let content = json!([{ "type": "text", "text": runs.to_string() }]);
        Ok(json!({ "content": content, "structuredContent": runs }))
    }

    fn abort(&self, arguments: Map<String, Value>) -> Result<Value, String> {
        let given = Given::new(arguments, &["sessionId"])?;
        match self.runs.abort(given.session()?) {
            true => Ok(pi_mcp::server::text_result("The run is being aborted.")),
            false => Err("no run of this session is in progress".to_owned()),
        }
    }

    async fn read(&self, uri: &str, is_modern: bool) -> Result<Value, Error> {
        let unknown = || unknown_resource(uri, is_modern);
        let session = uri.strip_prefix("pi://sessions/").map(str::to_owned);
        let run = uri.strip_prefix("pi://runs/").and_then(|rest| rest.strip_suffix("/report"));
        let (mime_type, text) = match (session, run.map(str::to_owned)) {
            (Some(id), _) => {
                let found = self.find(&id).await?.ok_or_else(unknown)?;
                ("text/markdown", self.reading(move |_| sessions::markdown(&found)).await?)
            }
            (None, Some(id)) => {
                let own = self.runs.list(None).into_iter().find(|run| run.id == id);
                let own = own.and_then(|run| run.report).map(|report| Ok(report.to_string()));
                let text = match own {
                    Some(text) => Some(text),
                    None => self.reading(move |plan| sessions::report(plan, &id)).await?,
                };
                ("application/json", text.ok_or_else(unknown)?)
            }
            (None, None) => return Err(unknown()),
        };
        let text = text.map_err(Error::internal)?;
        Ok(json!({ "contents": [{ "uri": uri, "mimeType": mime_type, "text": text }] }))
    }

    async fn resources(&self) -> Result<Vec<Value>, Error> {
        let ended = self.runs.list(None).into_iter().filter(|run| run.report.is_some());
        let own = ended.map(|run| {
            json!({
                "uri": sessions::report_uri(&run.id),
                "name": run.id,
                "description": "Report of a run of this server",
                "mimeType": "application/json",
            })
        });
        let mut resources: Vec<Value> = own.collect();
        resources.extend(self.listed().await?);
        resources.extend(self.reading(sessions::list_reports).await?);
        Ok(resources)
    }
}

/// Describes a run for `status`.
fn describe(run: &RunStatus) -> Value {
    let mut described = json!({
        "runId": run.id,
        "sessionId": run.session,
        "cwd": run.cwd.to_string_lossy(),
        "started": run.started.to_string(),
    });
    match &run.report {
        None => {
            described["state"] = json!("running");
            described["doing"] = json!(run.doing);
        }
        Some(report) => {
            described["state"] = json!("ended");
            described["outcome"] = report["outcome"].clone();
        }
    }
    described
}

fn wishes(given: &Given) -> Result<Wishes, String> {
    let limits = given.object("limits")?.cloned().unwrap_or_default();
    Ok(Wishes { profile: given.text("profile")?.map(str::to_owned), limits })
}

fn unknown_session() -> String {
    "no such session in the directories of this server".to_owned()
}

fn resource_templates() -> Vec<Value> {
    vec![
        json!({
            "uriTemplate": "pi://sessions/{id}",
            "name": "session",
            "description": "A session as Markdown",
            "mimeType": "text/markdown",
        }),
        json!({
            "uriTemplate": "pi://runs/{id}/report",
            "name": "report",
            "description": "The report of a run",
            "mimeType": "application/json",
        }),
    ]
}

impl Service for PiService {
    fn about(&self) -> About {
        About {
            name: "pi".to_owned(),
            title: Some("pi, a coding agent".to_owned()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: Some(INSTRUCTIONS.to_owned()),
            offers: Offers {
                tools: true,
                resources: true,
                prompts: true,
                completions: true,
                logging: false,
                tasks: true,
                changes: true,
            },
        }
    }

    fn list(&self, listing: Listing) -> BoxFuture<'_, Result<Vec<Value>, Error>> {
        Box::pin(async move {
            match listing {
                Listing::Tools => Ok(tools::list()),
                Listing::Resources => self.resources().await,
                Listing::ResourceTemplates => Ok(resource_templates()),
                Listing::Prompts => self.reading(templates::list).await,
            }
        })
    }

    fn call_tool(
        &self,
        name: String,
        arguments: Map<String, Value>,
        context: Context,
    ) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(async move {
            let result = self.tool(&name, arguments, &context).await?;
            Ok(result.unwrap_or_else(error_result))
        })
    }

    fn read_resource(&self, uri: String, context: Context) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(async move { self.read(&uri, context.client().is_modern()).await })
    }

    fn get_prompt(
        &self,
        name: String,
        arguments: Map<String, Value>,
        _: Context,
    ) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(async move {
            let asked = name.clone();
            let found = self.reading(move |plan| templates::get(plan, &asked, &arguments)).await?;
            match found {
                Some(prompt) => prompt.map_err(Error::internal),
                None => Err(Error::invalid_params(format_args!("unknown prompt: {name}"))),
            }
        })
    }

    fn complete(&self, request: Map<String, Value>) -> BoxFuture<'_, Result<Vec<String>, Error>> {
        Box::pin(async move {
            let is_session = request["ref"]["uri"] == "pi://sessions/{id}";
            if !is_session || request["argument"]["name"] != "id" {
                return Ok(Vec::new());
            }
            let beginning = request["argument"]["value"].as_str().unwrap_or_default().to_owned();
            let listed = self.listed().await?;
            let ids = listed.iter().filter_map(|session| session["name"].as_str());
            let ids = ids.filter(|id| id.starts_with(&beginning));
            Ok(ids.map(str::to_owned).collect())
        })
    }
}
