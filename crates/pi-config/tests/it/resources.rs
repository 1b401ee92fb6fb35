//! Loading resources as the TypeScript pi does, case by case.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use pi_config::resources::{PackageRoot, ResourceScope, Resources};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::env::{TestEnv, link};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    cwd: Option<String>,
    #[serde(default)]
    files: BTreeMap<String, Option<String>>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    #[serde(default)]
    user: Settings,
    #[serde(default)]
    project: Settings,
    #[serde(default)]
    flags: Flags,
    trusted: Option<bool>,
    observed: Map<String, Value>,
    /// Intended differences from the observation.
    #[serde(default)]
    differs: BTreeMap<String, Difference>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    #[expect(dead_code, reason = "for readers")]
    why: String,
    ours: Value,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    skills: Vec<String>,
    prompts: Vec<String>,
    packages: Vec<Value>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
struct Flags {
    skills: Vec<String>,
    prompts: Vec<String>,
    no_skills: bool,
    no_prompts: bool,
    no_context_files: bool,
    system_prompt: Option<String>,
    append: Option<Vec<String>>,
}

#[test]
fn resources_are_loaded_as_by_pi() {
    let cases = include_str!("../fixtures/resources/loading.jsonl");
    let mut wrong = Vec::new();
    for line in cases.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let mut expected = case.observed.clone();
        for (part, difference) in &case.differs {
            expected.insert(part.clone(), difference.ours.clone());
        }
        expected.retain(|_, part| !part.is_null());
        let ours = load(&case);
        if ours != expected {
            for part in ["skills", "prompts", "contextFiles", "systemPrompt", "append", "diagnosed"]
            {
                let (ours, theirs) = (ours.get(part), expected.get(part));
                if ours != theirs {
                    let show = |part: Option<&Value>| part.unwrap_or(&Value::Null).to_string();
                    wrong.push(format!(
                        "{}: {part}\n  ours {}\n  want {}",
                        case.name,
                        show(ours),
                        show(theirs)
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn load(case: &Case) -> Map<String, Value> {
    let env = TestEnv::new();
    for (name, content) in &case.files {
        match content {
            Some(content) => drop(env.write(name, env.real(content))),
            None => fs::create_dir_all(env.path(name)).unwrap(),
        }
    }
    for (name, target) in &case.links {
        link(&env.real(target), &env.path(name));
    }
    let real = |list: &[String]| list.iter().map(|text| env.real(text)).collect::<Vec<_>>();
    let mut options = env.options();
    options.environment = env.environment(case.cwd.as_deref().unwrap_or("home/proj"));
    options.trusted = case.trusted.unwrap_or(true);
    for (settings, into) in [(&case.user, &mut options.user), (&case.project, &mut options.project)]
    {
        into.skills = real(&settings.skills);
        into.prompts = real(&settings.prompts);
    }
    let bases = [
        (&case.user, ResourceScope::User, options.environment.agent_directory.clone()),
        (&case.project, ResourceScope::Project, options.environment.project_directory()),
    ];
    for (settings, scope, base) in bases {
        fs::create_dir_all(&base).unwrap();
        options.packages.extend(settings.packages.iter().map(|entry| package(entry, scope, &base)));
    }
    let flags = &mut options.flags;
    flags.skills = real(&case.flags.skills);
    flags.prompts = real(&case.flags.prompts);
    flags.no_skills = case.flags.no_skills;
    flags.no_prompts = case.flags.no_prompts;
    flags.no_context_files = case.flags.no_context_files;
    flags.system_prompt = case.flags.system_prompt.as_deref().map(|text| env.real(text));
    flags.append_system_prompt = case.flags.append.as_deref().map(real);

    let text = serde_json::to_string(&seen(&Resources::load(&options))).unwrap();
    serde_json::from_str(&env.placeholder(&text)).unwrap()
}

/// Returns a package of the settings in the directory of its installer.
fn package(entry: &Value, scope: ResourceScope, base: &std::path::Path) -> PackageRoot {
    let source = entry.as_str().unwrap_or_else(|| entry["source"].as_str().unwrap()).to_owned();
    let list = |key: &str| -> Option<Vec<String>> {
        entry.get(key).map(|list| serde_json::from_value(list.clone()).unwrap())
    };
    let directory = match source.strip_prefix("npm:") {
        Some(name) => base.join("npm/node_modules").join(name),
        None => fs::canonicalize(base.join(&source)).unwrap(),
    };
    let extensions = list("extensions");
    let (skills, prompts) = (list("skills"), list("prompts"));
    let themes = list("themes");
    PackageRoot { directory, scope, source, extensions, skills, prompts, themes, limits: None }
}

fn seen(resources: &Resources) -> Map<String, Value> {
    let skills: Vec<Value> = resources
        .skills
        .iter()
        .map(|skill| {
            json!({"name": skill.name, "description": skill.description,
                "disabled": skill.disable_model_invocation, "sourceInfo": skill.source})
        })
        .collect();
    let prompts: Vec<Value> = resources
        .prompts
        .iter()
        .map(|prompt| {
            let mut seen = json!({"name": prompt.name, "description": prompt.description});
            if let Some(hint) = &prompt.argument_hint {
                seen["argumentHint"] = json!(hint);
            }
            seen["sourceInfo"] = json!(prompt.source);
            seen
        })
        .collect();
    let context: Vec<Value> = resources
        .context_files
        .iter()
        .map(|file| json!({"path": file.path, "content": file.content}))
        .collect();
    let append: Vec<&str> =
        resources.append_system_prompt.iter().map(|text| text.text.as_str()).collect();
    let diagnosed: Vec<&PathBuf> =
        resources.diagnostics.iter().filter_map(|d| d.path.as_ref()).collect();
    let mut seen = Map::new();
    for (name, list) in [
        ("skills", json!(skills)),
        ("prompts", json!(prompts)),
        ("contextFiles", json!(context)),
        ("append", json!(append)),
        ("diagnosed", json!(diagnosed)),
    ] {
        if list.as_array().is_some_and(|list| !list.is_empty()) {
            seen.insert(name.to_owned(), list);
        }
    }
    if let Some(system) = &resources.system_prompt {
        seen.insert("systemPrompt".to_owned(), json!(system.text));
    }
    seen
}
