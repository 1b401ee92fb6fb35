//! A temporary project with an agent whose model is scripted.

use std::path::PathBuf;
use std::sync::Arc;

use pi_ai::faux::Faux;
use pi_coding_agent::{AgentOptions, AgentRuntime, CustomModel, Environment, create_agent_session};

pub(crate) struct TestEnv {
    directory: tempfile::TempDir,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("project")).unwrap();
        Self { directory }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    pub(crate) fn options(&self, model: &Faux) -> AgentOptions {
        let root = self.directory.path();
        let environment = Environment::new(self.project(), root.join("agent"));
        let mut options = AgentOptions::new(environment);
        options.model.custom =
            Some(CustomModel::new(Arc::new(model.clone()), Arc::new(Faux::model())));
        options.guard.checkpoints = false;
        options
    }

    pub(crate) async fn runtime(&self, model: &Faux) -> AgentRuntime {
        create_agent_session(self.options(model)).await.unwrap().runtime
    }
}
