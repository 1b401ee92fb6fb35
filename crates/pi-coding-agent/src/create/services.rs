//! Services: settings, models and resources, which outlive a session.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use pi_agent::AgentTool;
use pi_base::lock;
use pi_config::omissions::Omission;
use pi_config::resources::Resources;
use pi_config::{AuthStore, Project, Settings};
use pi_models::{ModelRegistry, ModelsFile};
use pi_protocol::{Provider, ThinkingLevel};
use pi_session::Session;
use pi_tools::toolset;

use super::WeakAgentRuntime;
use super::builtins::{SessionSurroundings, open_builtins, open_parts};
use super::checkpointing;
use super::extensions::{LoadedExtensions, open_all, set_flags};
use super::guarding::{GuardedSession, GuardedWorkspace};
use super::model::choose_model;
use super::session_settings::session_settings;
use super::{AgentOptions, CreateError, omissions};
use crate::Diagnostic;
use crate::extension::{DiscoveredResources, Extension, ExtensionFailure, Handles};
use crate::guard::{Guarded, ToolOrigin};
use crate::interventions::{self, Checks};
use crate::session::{AgentSession, Meter, SessionParts, SessionSettings};
use crate::session_selector::SelectSessionError;

/// Settings, models and resources of one working directory.
#[derive(Clone)]
pub(crate) struct Services {
    pub(super) options: Arc<AgentOptions>,
    /// The project, with the settings as they are now.
    pub(super) project: Arc<Mutex<Project>>,
    pub(super) registry: ModelRegistry,
    pub(super) resources: Arc<Resources>,
    problems: Vec<Diagnostic>,
    /// Configuration of the files that no session uses.
    pub(super) omissions: Vec<Omission>,
}

/// A session that was built.
pub(crate) struct Built {
    pub(crate) session: AgentSession,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Configuration of the user that the session does not use.
    pub(crate) omissions: Vec<Omission>,
    pub(crate) failures: Vec<ExtensionFailure>,
}

/// Occasion on which a session is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// The options for model and thinking level apply to an existing session, too.
    Startup,
    /// An existing session keeps its model and thinking level.
    Replacement,
}

impl Services {
    /// Reads what the project and the options name.
    pub(super) fn load(options: AgentOptions) -> Self {
        let (environment, project) = (options.environment(), &options.project);
        let mut problems = project.trust_problems().to_vec();
        let (file, invalid) = ModelsFile::load(&environment.agent_directory.join("models.json"));
        problems.extend(invalid);
        let auth = Arc::new(AuthStore::new(&environment.agent_directory));
        problems.extend(auth.check());
        let registry =
            ModelRegistry::new(environment.clone(), file, auth).with_settings(project.settings());
        options.model.accounts.iter().cloned().for_each(|name| registry.choose_account(name));
        let resources = Resources::of(project, &options.resources);
        problems.extend(project.store().diagnostics());
        problems.extend(resources.diagnostics.iter().cloned());
        let omissions = omissions::find(&options, &resources);
        Self {
            project: Arc::new(Mutex::new(project.clone())),
            options: Arc::new(options),
            registry,
            resources: Arc::new(resources),
            problems,
            omissions,
        }
    }

    /// Returns the services of another working directory, and the extensions that were loaded to
    /// decide on its trust. Returns `None` for the directory of these services.
    pub(crate) async fn for_directory(&self, cwd: &Path) -> Option<(Self, LoadedExtensions)> {
        if cwd == self.options.environment().cwd || !cwd.is_dir() {
            return None;
        }
        let project = self.project().in_directory(cwd);
        let mut options = AgentOptions { project, ..(*self.options).clone() };
        let (loaded, asked) = LoadedExtensions::before_trust(&mut options).await;
        let mut services = Self::load(options);
        services.problems.extend(asked);
        Some((services, loaded))
    }

    /// Opens all extensions anew, for a reload.
    pub(crate) fn open_extensions(&self) -> Vec<Arc<dyn Extension>> {
        let mut all = open_all(&self.options, &self.resources.extensions);
        all.extend(open_builtins(&self.options, self.project().store()));
        all.extend(self.restrictions());
        all
    }

    /// Returns the hooks and guardrails of the settings as extensions. They are the last ones: no
    /// extension changes what they have seen.
    fn restrictions(&self) -> Vec<Arc<dyn Extension>> {
        let options = &self.options;
        let settings = self.project().settings().clone();
        let runner = options.command_runner();
        let checks = [Checks::hooks(&settings, &runner), Checks::guardrails(&settings, &runner)];
        let extension = |checks| -> Arc<dyn Extension> {
            Arc::new(interventions::extension(checks, options.subagent.clone()))
        };
        checks.into_iter().flatten().map(extension).collect()
    }

    /// Reads all files anew. Keys that were given on the command line stay.
    pub(crate) fn reloaded(&self) -> Self {
        let project = self.project().reopened();
        let mut services = Self::load(AgentOptions { project, ..(*self.options).clone() });
        let (file, _) =
            ModelsFile::load(&self.options.environment().agent_directory.join("models.json"));
        self.registry.reload(file);
        services.registry =
            self.registry.clone().with_settings(services.options.project.settings());
        services
    }

    /// Returns the same services with the skills and templates that extensions discovered. Themes
    /// belong to the screen.
    pub(crate) fn with_discovered(&self, found: DiscoveredResources) -> Self {
        let texts = |paths: Vec<PathBuf>| {
            paths.into_iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let mut flags = self.options.resources.clone();
        flags.skills.extend(texts(found.skills));
        flags.prompts.extend(texts(found.prompts));
        let resources = Resources::of(&self.project(), &flags);
        Self { resources: Arc::new(resources), ..self.clone() }
    }

    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        self.problems.iter().cloned().chain(self.registry.update_problem()).collect()
    }

    /// Returns the project as it is now.
    pub(super) fn project(&self) -> MutexGuard<'_, Project> {
        lock(&self.project)
    }

    /// Reads the settings again. If a file is broken, its known content stays.
    pub(crate) fn reload_settings(&self) {
        self.project().store_mut().reload();
    }

    /// Returns the settings of the user that concern a session.
    pub(crate) fn session_settings(&self) -> SessionSettings {
        session_settings(self.project().settings(), &self.options)
    }

    /// Builds the first session of a runtime, with extensions that are loaded already.
    pub(super) async fn build_first(
        &self,
        log: Session,
        runtime: &WeakAgentRuntime,
        loaded: LoadedExtensions,
    ) -> Result<Built, CreateError> {
        Box::pin(self.build(log, Occasion::Startup, runtime, loaded)).await
    }

    /// Builds a session that replaces another.
    pub(crate) async fn build_replacement(
        &self,
        log: Session,
        runtime: &WeakAgentRuntime,
        loaded: LoadedExtensions,
    ) -> Result<Built, CreateError> {
        Box::pin(self.build(log, Occasion::Replacement, runtime, loaded)).await
    }

    async fn build(
        &self,
        mut log: Session,
        occasion: Occasion,
        runtime: &WeakAgentRuntime,
        mut loaded: LoadedExtensions,
    ) -> Result<Built, CreateError> {
        self.check_restrictions()?;
        self.check_default_model()?;
        loaded.load(&self.options, &self.resources.extensions).await;
        let LoadedExtensions { mut extensions, mut failures, .. } = loaded;
        self.check_loaded(&failures)?;
        set_flags(&self.options, extensions.registry())?;
        let settings = self.project().settings().clone();
        let mut outline = log.outline().map_err(SelectSessionError::from)?;
        if !log.has_thinking_level() {
            // A log that names no level leaves it to the settings.
            outline.thinking_level.clear();
        }
        let resumed = (outline.message_count > 0).then_some(&outline);
        let mut options = (*self.options).clone();
        if occasion == Occasion::Replacement && resumed.is_some() {
            (options.model.requested, options.model.provider, options.model.thinking_level) =
                (None, None, None);
        }
        // Providers of extensions take part in the choice of the model.
        let registered = extensions.registry();
        self.registry.set_registered(registered.generation(), || registered.registrations());
        let chosen = choose_model(&self.registry, &options, &settings, resumed).await?;
        let provider: Arc<dyn Provider> = match &options.model.custom {
            Some(custom) => Arc::clone(&custom.provider),
            None => Arc::new(self.registry.client().clone()),
        };
        let tapped = match &options.tap {
            Some(tap) => tap.provider(Arc::clone(&provider)),
            None => Arc::clone(&provider),
        };
        let meter = Meter::new(options.budget.clone());
        let reviewing = meter.provider(tapped);
        let of_session = GuardedSession {
            log: &log,
            declared: resumed.map_or(&[][..], |outline| &outline.declared.tools),
            model: chosen.model.as_ref(),
            provider: &reviewing,
            occasion,
        };
        let GuardedWorkspace { guard, workspace, checkpoints, session: handle } =
            self.guard(&settings, of_session).await?;
        let guarded = |tools: Vec<Arc<dyn AgentTool>>, origin| {
            let tools = tools.into_iter();
            tools.map(|tool| Guarded::wrap(tool, &guard, &workspace, origin)).collect::<Vec<_>>()
        };
        let mut has_extensions = extensions.registry().has_extensions();
        let mut diagnostics = chosen.diagnostics;
        let services = self.clone();
        let mut surroundings = SessionSurroundings {
            options: &self.options,
            guard: &guard,
            models: &self.registry,
            registry: &extensions.registry().clone(),
            is_trusted: Arc::new(move || services.project().is_trusted()),
            diagnostics: &mut diagnostics,
        };
        for extension in open_parts(&mut surroundings) {
            failures.extend(extensions.add_builtin(extension).await);
            has_extensions = true;
        }
        let builtins = open_builtins(&options, self.project().store());
        for extension in builtins {
            failures.extend(extensions.add(extension).await);
        }
        let registered: Vec<String> = {
            let tools = extensions.registry().tools();
            tools.iter().map(|one| one.tool.declaration().name.clone()).collect()
        };
        for extension in self.restrictions() {
            failures.extend(extensions.add(extension).await);
        }
        let unknown = match has_extensions {
            // Extensions may register any name later.
            true => Vec::new(),
            false => self.unknown_tools(&options, &settings, &registered)?,
        };
        let builtin = guarded(toolset::all(&workspace), ToolOrigin::Builtin);
        let custom = guarded(options.tools.custom.clone(), ToolOrigin::External);
        let tools = options.tools.selection.choose(builtin, custom, &registered, &settings);
        match checkpoints {
            Ok(Some(_)) if options.tap.as_ref().is_some_and(|tap| !tap.executes_tools()) => {}
            Ok(Some(checkpoints)) => {
                let extension = Arc::new(checkpointing::extension(checkpoints));
                failures.extend(extensions.add_builtin(extension).await);
            }
            Ok(None) => {}
            Err(reason) => diagnostics.push(Diagnostic::warning(None, reason.to_string())),
        }
        let mut parts =
            SessionParts::new(provider, chosen.model.clone(), log, Arc::clone(&workspace));
        parts.outline = Some(outline);
        parts.models = options.model.custom.is_none().then(|| Arc::new(self.registry.clone()));
        parts.thinking_level = chosen.level.unwrap_or(ThinkingLevel::Off);
        parts.scoped_models = chosen.scoped;
        parts.tools = tools.tools;
        parts.active_tools = tools.active;
        parts.tool_filter = options.tools.selection.filter();
        parts.restore_tools = options.tools.selection.restores();
        parts.tool_changes = options.tools.selection.changes().to_vec();
        parts.resources = self.loaded_resources(workspace.cwd(), Some(&guard));
        parts.settings = session_settings(&settings, &options);
        parts.save_setting = Some(self.save_setting());
        parts.extensions = extensions;
        parts.ui = Arc::clone(&options.ui);
        parts.mode = options.mode;
        parts.handles = Handles::default().with(runtime.clone());
        parts.set_guard(guard, handle);
        parts.tap = options.tap.clone();
        parts.meter = meter;
        let session = AgentSession::new(parts).map_err(SelectSessionError::from)?;
        let omissions = self.omissions.iter().cloned().chain(unknown).collect();
        Ok(Built { session, diagnostics, omissions, failures })
    }

    /// Returns the selected tools that do not exist.
    fn unknown_tools(
        &self,
        options: &AgentOptions,
        settings: &Settings,
        registered: &[String],
    ) -> Result<Vec<Omission>, CreateError> {
        let builtin = toolset::BUILTIN_TOOLS.iter().map(|tool| tool.name.to_owned());
        let custom = options.tools.custom.iter().map(|tool| tool.declaration().name.clone());
        let known: Vec<String> = builtin.chain(custom).chain(registered.iter().cloned()).collect();
        Ok(options.tools.selection.unknown(settings, &known)?)
    }
}
