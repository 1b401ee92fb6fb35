//! A session with extensions and a scripted model, in a directory of its own.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pi_agent::{Invocation, ToolOutput, Updates};
use pi_ai::faux::Faux;
use pi_coding_agent::{
    AgentOptions, AgentRuntime, CustomModel, Diagnostic, Environment, SessionSelector,
    create_agent_session,
};
use pi_config::resources::SourceInfo;
use pi_extensions::{
    Access, ExtensionAccess, ExtensionHost, HostOptions, Limits, ProcessOptions, Report,
};
use pi_protocol::CancelToken;
use serde_json::{Map, Value};
use tempfile::TempDir;

/// A session with extensions. `root` has `home` and `project`.
pub(crate) struct Trial {
    pub(crate) root: TempDir,
    pub(crate) runtime: AgentRuntime,
    pub(crate) model: Faux,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) reports: Arc<Mutex<Vec<Report>>>,
    _host: ExtensionHost,
}

/// Files and options of a trial.
pub(crate) struct Setup {
    root: TempDir,
    extensions: Vec<PathBuf>,
    pub(crate) limits: Limits,
    pub(crate) process: ProcessOptions,
    pub(crate) access: Access,
    pub(crate) change: Box<dyn FnOnce(&mut AgentOptions)>,
}

impl Setup {
    pub(crate) fn new() -> Self {
        let root = TempDir::new().unwrap();
        for directory in ["home", "project"] {
            std::fs::create_dir(root.path().join(directory)).unwrap();
        }
        let mut process = ProcessOptions::new(root.path().join("project"));
        let variable = |name: &str, value: String| (name.to_owned(), value);
        process.variables.extend([
            variable("HOME", root.path().join("home").display().to_string()),
            variable("TMPDIR", root.path().display().to_string()),
            variable("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            variable("TZ", "UTC".to_owned()),
        ]);
        let (extensions, limits) = (Vec::new(), Limits::default());
        Self {
            root,
            extensions,
            limits,
            process,
            access: Access::trusted(),
            change: Box::new(|_| {}),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file below the root.
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Writes an extension file below the root, and loads it.
    pub(crate) fn extension(self, name: &str, text: &str) -> Self {
        let mut setup = self.file(name, text);
        let path = setup.path(name);
        setup.extensions.push(path);
        setup
    }

    /// Sets a variable of the environment.
    pub(crate) fn variable(mut self, name: &str, value: &impl ToString) -> Self {
        self.process.variables.insert(name.to_owned(), value.to_string());
        self
    }

    /// Loads an extension file that exists.
    pub(crate) fn existing(mut self, path: impl AsRef<Path>) -> Self {
        self.extensions.push(path.as_ref().to_owned());
        self
    }

    /// Starts the session.
    pub(crate) async fn start(self) -> Trial {
        let reports: Arc<Mutex<Vec<Report>>> = Arc::default();
        let received = Arc::clone(&reports);
        let access = self.access;
        let options = HostOptions {
            limits: self.limits,
            process: self.process,
            programs: Default::default(),
            cache: None,
            reporter: Arc::new(move |report| received.lock().unwrap().push(report)),
        };
        let rule = move |_: &SourceInfo| Ok(ExtensionAccess::Shared(access.clone()));
        let host = ExtensionHost::with_access(options, Arc::new(rule));
        let environment =
            Environment::new(self.root.path().join("project"), self.root.path().join("home/agent"));
        let mut options = AgentOptions::new(environment);
        let model = Faux::new();
        options.session.selector = SessionSelector::InMemory;
        options.model.custom =
            Some(CustomModel::new(Arc::new(model.clone()), Arc::new(Faux::model())));
        let paths = self.extensions.iter().map(|path| path.display().to_string());
        options.resources.extensions = paths.collect();
        let opener = host.clone();
        options.extensions.open = Some(Arc::new(move |source, _| opener.open(source)));
        (self.change)(&mut options);
        let created = create_agent_session(options).await.unwrap();
        Trial {
            root: self.root,
            runtime: created.runtime,
            model,
            diagnostics: created.diagnostics,
            reports,
            _host: host,
        }
    }
}

impl Trial {
    /// Calls a tool of an extension without a model.
    pub(crate) async fn call_tool(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<ToolOutput, String> {
        let session = self.runtime.session();
        let tools = session.extensions().registry().tools();
        let tool = tools.iter().find(|tool| tool.tool.declaration().name == name);
        let tool = tool.unwrap_or_else(|| panic!("no tool {name}: {:?}", self.diagnostics));
        let arguments = arguments.as_object().cloned().unwrap_or_else(Map::new);
        let invocation =
            Invocation::new("call-1", arguments, CancelToken::default(), Updates::new(|_| {}));
        tool.tool.execute(invocation).await.map_err(|error| error.to_string())
    }

    /// Calls a tool and returns the text of its result.
    pub(crate) async fn tool_text(&self, name: &str, arguments: Value) -> String {
        let output = self.call_tool(name, arguments).await.unwrap();
        let texts = output.content.iter().filter_map(|block| match block {
            pi_protocol::UserBlock::Text(text) => Some(text.text.to_string()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the messages of what went wrong while the session was built.
    pub(crate) fn problems(&self) -> Vec<String> {
        let problems = self.diagnostics.iter().map(ToString::to_string);
        let reports = self.reports.lock().unwrap();
        problems.chain(reports.iter().map(|report| report.error.clone())).collect()
    }
}
