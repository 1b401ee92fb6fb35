//! Loading a spec with everything that it can reach: inheritance, sub-agents, handoffs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::draft::{Draft, file_problem};
use super::file::{
    AgentPolicy, DescribedHandoff, DescribedSubagent, HandoffEntry, SandboxRestriction,
    SubagentEntry,
};
use super::library::AgentLibrary;
use super::prompt::{built_in_variables, unknown_variables};
use super::spec::{AgentSet, AgentSpec, Handoff, PromptTemplate, Subagent};
use super::tool_names::{ToolName, translate};
use crate::task::Problem;

/// Name of the spec that changes nothing.
const DEFAULT: &str = "default";

/// Agent specs that cannot be used, with all problems that were found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
#[non_exhaustive]
pub struct AgentError {
    /// The problems, at least one.
    pub problems: Vec<Problem>,
}

impl AgentLibrary {
    /// Loads a spec by its file or name, with all specs that it can reach. A relative file is
    /// relative to `directory`.
    pub fn load(&self, reference: &str, directory: &Path) -> Result<AgentSet, AgentError> {
        let file = self
            .find(reference, directory)
            .map_err(|message| AgentError { problems: vec![file_problem("", message)] })?;
        self.load_file(&file)
    }

    /// Loads the spec of a file, with all specs that it can reach.
    pub fn load_file(&self, file: &Path) -> Result<AgentSet, AgentError> {
        let root = identity(file);
        let mut loader = Loader { library: self, set: AgentSet::default(), problems: Vec::new() };
        loader.set.root.clone_from(&root);
        loader.load_all(root);
        if loader.problems.is_empty() {
            Ok(loader.set)
        } else {
            Err(AgentError { problems: loader.problems })
        }
    }
}

/// Returns one path for all spellings of it.
fn identity(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

struct Loader<'l> {
    library: &'l AgentLibrary,
    set: AgentSet,
    problems: Vec<Problem>,
}

impl Loader<'_> {
    /// Loads a spec and those that it refers to, each once.
    fn load_all(&mut self, root: PathBuf) {
        let mut waiting = vec![root];
        let mut seen: Vec<PathBuf> = Vec::new();
        while let Some(file) = waiting.pop() {
            if seen.contains(&file) {
                continue;
            }
            seen.push(file.clone());
            let Some(spec) = self.load_one(&file) else { continue };
            waiting.extend(spec.subagents.values().map(|one| one.file.clone()));
            waiting.extend(spec.handoffs.values().map(|one| one.file.clone()));
            self.set.specs.insert(file, Arc::new(spec));
        }
        self.describe_references();
        self.check_handoffs();
    }

    fn load_one(&mut self, file: &Path) -> Option<AgentSpec> {
        let chain = match self.chain(file) {
            Ok(chain) => chain,
            Err(problems) => {
                self.problems.extend(problems);
                return None;
            }
        };
        self.set.warnings.extend(chain.iter().flat_map(|draft| draft.warnings.iter().cloned()));
        let before = self.problems.len();
        let spec = self.resolve(&chain);
        if self.problems.len() > before { None } else { Some(spec) }
    }

    /// Reads a file and those that it extends, the file first.
    fn chain(&self, file: &Path) -> Result<Vec<Draft>, Vec<Problem>> {
        let mut chain = vec![Draft::read(file)?];
        loop {
            let Some(draft) = chain.last() else { return Ok(chain) };
            let Some((base, field)) = draft.base() else { return Ok(chain) };
            if base == DEFAULT && self.library.installed(DEFAULT).is_none() {
                return Ok(chain);
            }
            let found = self.library.find(base, draft.directory());
            let next = identity(&found.map_err(|message| vec![draft.problem(field, message)])?);
            if chain.iter().any(|draft| identity(&draft.path) == next) {
                let mut names: Vec<String> = chain.iter().map(|draft| label(&draft.path)).collect();
                names.push(label(&next));
                let message = format!("the specs extend each other: {}", names.join(" → "));
                return Err(vec![draft.problem(field, message)]);
            }
            let read = Draft::read(&next);
            chain.push(read?);
        }
    }

    /// Applies the files of a chain, the last one first.
    fn resolve(&mut self, chain: &[Draft]) -> AgentSpec {
        let mut spec = AgentSpec {
            repairs: 1,
            max_depth: 2,
            max_parallel: 4,
            max_handoffs: 8,
            ..AgentSpec::default()
        };
        let mut variables: BTreeMap<String, String> = BTreeMap::new();
        let mut prompt = None;
        for draft in chain.iter().rev() {
            let file = &draft.file;
            let stem = draft.path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            // The name of a file is that of its spec, also if it extends another one.
            let name = file.name.clone().filter(|name| !name.is_empty());
            spec.name = name.or(stem).unwrap_or_default();
            spec.file.clone_from(&draft.path);
            replace(&mut spec.description, file.description.clone().or(file.when_to_use.clone()));
            variables.extend(file.system_prompt_args.clone());
            variables.extend(file.variables.clone());
            if let Some(text) = self.prompt_of(draft) {
                prompt = Some((draft, text));
            }
            replace(&mut spec.model, file.model.clone());
            if let Some(level) = &file.thinking {
                match level.parse() {
                    Ok(level) => spec.thinking = Some(level),
                    Err(error) => {
                        let error: pi_protocol::UnknownThinkingLevel = error;
                        self.problems.push(draft.problem("/thinking", error.to_string()));
                    }
                }
            }
            if let Some(subagents) = &file.subagents {
                spec.subagents = self.subagents(draft, subagents);
            }
            if let Some(handoffs) = &file.handoffs {
                spec.handoffs = self.handoffs(draft, handoffs);
            }
            replace(&mut spec.limits, file.limits.clone());
            if let Some(policy) = &file.policy {
                tighten(&mut spec.policy, policy);
            }
            if let Some(output) = &file.output {
                let schema = output.schema.as_ref();
                spec.output_schema =
                    schema.and_then(|schema| self.schema(draft, "/output/schema", schema));
                spec.min_length = output.min_length;
                spec.repairs = output.repairs.unwrap_or(1);
            }
            spec.max_depth = file.max_depth.unwrap_or(spec.max_depth);
            spec.max_parallel = file.max_parallel.unwrap_or(spec.max_parallel).max(1);
            spec.max_handoffs = file.max_handoffs.unwrap_or(spec.max_handoffs);
        }
        if spec.model.as_deref() == Some("inherit") {
            spec.model = None;
        }
        self.resolve_tools(chain, &mut spec);
        spec.prompt = prompt.map(|(draft, text)| self.checked_prompt(draft, text, variables));
        spec
    }

    /// Returns the prompt of a file with the number of its first line in the file that has it.
    fn prompt_of(&mut self, draft: &Draft) -> Option<PromptText> {
        if let Some((text, line)) = &draft.body {
            let file = draft.path.display().to_string();
            return Some(PromptText { text: text.clone(), place: Some((file, *line)) });
        }
        if let Some(text) = &draft.file.system_prompt {
            return Some(PromptText { text: text.clone(), place: None });
        }
        let path = draft.directory().join(draft.file.system_prompt_path.as_ref()?);
        match std::fs::read_to_string(&path) {
            Ok(text) => Some(PromptText { text, place: Some((path.display().to_string(), 1)) }),
            Err(error) => {
                let message = format!("{} cannot be read: {error}", path.display());
                self.problems.push(draft.problem("/system_prompt_path", message));
                None
            }
        }
    }

    /// Checks the variables of a prompt.
    fn checked_prompt(
        &mut self,
        draft: &Draft,
        prompt: PromptText,
        variables: BTreeMap<String, String>,
    ) -> PromptTemplate {
        let template = PromptTemplate { text: prompt.text, variables };
        for unknown in unknown_variables(&template) {
            let message = format!(
                "unknown variable ${{{}}}; define it in `variables`, write $${{ for the text, or use \
                 one of {}",
                unknown.name,
                built_in_variables()
                    .filter(|name| !name.starts_with("KIMI_"))
                    .collect::<Vec<_>>()
                    .join(", ")
            );
            self.problems.push(match &prompt.place {
                Some((file, first)) => {
                    let mut problem = file_problem(file, message);
                    let line = first + unknown.line - 1;
                    problem.place = Some(pi_config::yaml::Place { line, column: 1 });
                    problem
                }
                None => draft.problem("/system_prompt", message),
            });
        }
        template
    }

    /// Finds the tools of a spec. Each list is that of the nearest file that has one.
    fn resolve_tools(&mut self, chain: &[Draft], spec: &mut AgentSpec) {
        let nearest = |field: &'static str| {
            chain.iter().find_map(|draft| Some((draft, draft.tools(field)?.names())))
        };
        let excluded = nearest("exclude_tools").map(|(_, names)| names).unwrap_or_default();
        let excluded: Vec<String> = excluded.into_iter().map(|(_, name)| name).collect();
        let allowed = nearest("allowed_tools")
            .map(|(draft, names)| self.translated(draft, "allowed_tools", names, &excluded));
        let tools = nearest("tools")
            .map(|(draft, names)| self.translated(draft, "tools", names, &excluded));
        for name in &excluded {
            let ours = match translate(name) {
                ToolName::Known(ours) => ours,
                // A tool that does not exist here is excluded already.
                ToolName::Missing | ToolName::Unknown(_) => continue,
            };
            if !spec.exclude_tools.contains(&ours) {
                spec.exclude_tools.push(ours);
            }
        }
        let keep = |name: &String| !spec.exclude_tools.contains(name);
        spec.tools = match (tools, allowed) {
            (Some(tools), Some(allowed)) => {
                Some(tools.into_iter().filter(|name| allowed.contains(name)).collect())
            }
            (tools, allowed) => tools.or(allowed),
        }
        .map(|tools: Vec<String>| tools.into_iter().filter(keep).collect());
    }

    /// Translates the names of a list, without those that are excluded.
    fn translated(
        &mut self,
        draft: &Draft,
        field: &str,
        names: Vec<(Option<usize>, String)>,
        excluded: &[String],
    ) -> Vec<String> {
        let mut tools: Vec<String> = Vec::new();
        for (at, name) in names {
            if excluded.contains(&name) {
                continue;
            }
            match translate(&name) {
                ToolName::Known(ours) if !tools.contains(&ours) => tools.push(ours),
                ToolName::Known(_) => {}
                ToolName::Missing => {
                    let message = format!("{name} has no counterpart here and is left out");
                    let warning = draft.tool_problem(field, at, &message);
                    if !self.set.warnings.contains(&warning) {
                        self.set.warnings.push(warning);
                    }
                }
                ToolName::Unknown(why) => {
                    let message = format!("unknown tool {name}: {why}");
                    self.problems.push(draft.tool_problem(field, at, &message));
                }
            }
        }
        tools
    }

    fn subagents(
        &mut self,
        draft: &Draft,
        entries: &BTreeMap<String, SubagentEntry>,
    ) -> BTreeMap<String, Subagent> {
        let mut found = BTreeMap::new();
        for (name, entry) in entries {
            let DescribedSubagent { path, description } = match entry.clone() {
                SubagentEntry::Path(path) => DescribedSubagent { path, description: None },
                SubagentEntry::Described(described) => described,
            };
            if let Some(file) = self.reference(draft, &format!("/subagents/{name}"), &path) {
                let description = description.unwrap_or_default();
                found.insert(name.clone(), Subagent { file, description });
            }
        }
        found
    }

    fn handoffs(
        &mut self,
        draft: &Draft,
        entries: &BTreeMap<String, HandoffEntry>,
    ) -> BTreeMap<String, Handoff> {
        let mut found = BTreeMap::new();
        for (name, entry) in entries {
            let described = match entry.clone() {
                HandoffEntry::Path(path) => {
                    DescribedHandoff { path, ..DescribedHandoff::default() }
                }
                HandoffEntry::Described(described) => described,
            };
            let pointer = format!("/handoffs/{name}");
            let input = described.input.as_ref();
            let input =
                input.and_then(|schema| self.schema(draft, &format!("{pointer}/input"), schema));
            if let Some(file) = self.reference(draft, &pointer, &described.path) {
                found.insert(
                    name.clone(),
                    Handoff {
                        file,
                        description: described.description.unwrap_or_default(),
                        context: described.context,
                        last: described.last.unwrap_or(10),
                        input,
                    },
                );
            }
        }
        found
    }

    fn reference(&mut self, draft: &Draft, pointer: &str, reference: &str) -> Option<PathBuf> {
        match self.library.find(reference, draft.directory()) {
            Ok(file) => Some(identity(&file)),
            Err(message) => {
                self.problems.push(draft.problem(pointer, message));
                None
            }
        }
    }

    /// Returns a schema that is given as such or by its file.
    fn schema(&mut self, draft: &Draft, pointer: &str, schema: &Value) -> Option<Value> {
        let Some(path) = schema.as_str() else { return Some(schema.clone()) };
        let path = draft.directory().join(path);
        let read = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        let parsed =
            read.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
        match parsed {
            Ok(schema) => Some(schema),
            Err(error) => {
                let message = format!("the schema in {} cannot be used: {error}", path.display());
                self.problems.push(draft.problem(pointer, message));
                None
            }
        }
    }

    /// Fills in descriptions that a reference leaves to the spec of the other agent.
    fn describe_references(&mut self) {
        let descriptions: BTreeMap<PathBuf, String> = self
            .set
            .specs
            .iter()
            .map(|(file, spec)| (file.clone(), spec.description.clone().unwrap_or_default()))
            .collect();
        for spec in self.set.specs.values_mut() {
            let spec = Arc::make_mut(spec);
            let subagents =
                spec.subagents.values_mut().map(|one| (&one.file, &mut one.description));
            let handoffs = spec.handoffs.values_mut().map(|one| (&one.file, &mut one.description));
            for (file, description) in subagents.chain(handoffs) {
                if description.is_empty() {
                    *description = descriptions.get(file).cloned().unwrap_or_default();
                }
            }
        }
    }

    /// The guard of a session is fixed, so that a policy of an agent that takes over would not be
    /// applied.
    fn check_handoffs(&mut self) {
        let mut problems = Vec::new();
        for spec in self.set.specs.values() {
            for (name, handoff) in &spec.handoffs {
                let Some(target) = self.set.specs.get(&handoff.file) else { continue };
                if target.policy != AgentPolicy::default() && target.policy != spec.policy {
                    let message = format!(
                        "handoffs.{name}: {} has a policy of its own, which a handoff cannot apply; \
                         make it a sub-agent, or give both specs the same policy",
                        label(&handoff.file)
                    );
                    problems.push(file_problem(&spec.file.display().to_string(), message));
                }
            }
        }
        self.problems.extend(problems);
    }
}

/// A prompt, with the file that has it and its first line there.
struct PromptText {
    text: String,
    place: Option<(String, usize)>,
}

fn replace<T>(field: &mut Option<T>, given: Option<T>) {
    if given.is_some() {
        *field = given;
    }
}

fn label(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

/// Adds restrictions. A file cannot lift those of the file that it extends.
fn tighten(policy: &mut AgentPolicy, more: &AgentPolicy) {
    policy.sandbox = match (policy.sandbox, more.sandbox) {
        (Some(SandboxRestriction::ReadOnly), _) | (_, Some(SandboxRestriction::ReadOnly)) => {
            Some(SandboxRestriction::ReadOnly)
        }
        (one, other) => one.or(other),
    };
    policy.network = policy.network.or(more.network);
    policy.approval = policy.approval.or(more.approval);
    for path in &more.hidden {
        if !policy.hidden.contains(path) {
            policy.hidden.push(path.clone());
        }
    }
    for path in &more.protected {
        if !policy.protected.contains(path) {
            policy.protected.push(path.clone());
        }
    }
}
