//! The parts of a system prompt as owned data, which extensions may read and change.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::system_prompt::{self, Section, SectionNameError, ToolPrompt};
use super::{ContextFile, Skill, SourceInfo};

/// The parts of a system prompt.
#[derive(Debug, Clone, Default)]
pub struct SystemPromptOptions {
    /// Replaces the preamble, the tools and the rules. An empty text is ignored.
    pub custom_prompt: Option<String>,
    /// Active tools with their snippets and guidelines.
    pub tools: Vec<ToolPrompt>,
    /// Additional rules.
    pub guidelines: Vec<String>,
    /// Texts that the user adds.
    pub append: Vec<String>,
    /// Instruction files of the user and the project.
    pub context_files: Arc<[ContextFile]>,
    /// Skills. Those that are hidden from the model are left out of the prompt.
    pub skills: Arc<[Skill]>,
    /// Working directory; an empty path leaves the section out.
    pub cwd: PathBuf,
    /// Additional sections. A section with a standard name replaces that section.
    pub sections: Vec<Section>,
}

impl SystemPromptOptions {
    /// Builds the named sections of the prompt.
    pub fn build(&self) -> Map<String, Value> {
        system_prompt::build(self)
    }

    /// Returns the prompt as one text.
    pub fn text(&self) -> String {
        let sections = self.build();
        let texts: Vec<&str> = sections.values().filter_map(Value::as_str).collect();
        texts.join("\n\n")
    }

    /// Returns the parts in the form that extensions of the TypeScript pi know.
    pub fn payload(&self) -> Value {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
        let snippets: Map<String, Value> = self
            .tools
            .iter()
            .filter_map(|tool| Some((tool.name.clone(), tool.snippet.clone()?.into())))
            .collect();
        let guided = self.tools.iter().filter(|tool| !tool.guidelines.is_empty());
        let guidelines: Map<String, Value> =
            guided.map(|tool| (tool.name.clone(), json!(tool.guidelines))).collect();
        let files: Vec<Value> = self
            .context_files
            .iter()
            .map(|file| json!({ "path": file.path, "content": file.content }))
            .collect();
        let skills: Vec<Value> = self
            .skills
            .iter()
            .map(|skill| {
                json!({
                    "name": skill.name,
                    "description": skill.description,
                    "filePath": skill.path,
                    "disableModelInvocation": skill.disable_model_invocation,
                })
            })
            .collect();
        let sections: Map<String, Value> = self
            .sections
            .iter()
            .map(|section| (section.name().to_owned(), section.text().into()))
            .collect();
        let mut payload = json!({
            "selectedTools": names,
            "hiddenTools": [],
            "toolSnippets": snippets,
            "toolGuidelines": guidelines,
            "promptGuidelines": self.guidelines,
            "appendSystemPrompt": self.append.join("\n\n"),
            "sections": sections,
            "contextFiles": files,
            "skills": skills,
            "cwd": self.cwd,
        });
        if let Some(prompt) = &self.custom_prompt {
            payload["customPrompt"] = json!(prompt);
        }
        payload
    }

    /// Reads the parts from the form of [`SystemPromptOptions::payload`]. Missing parts are empty.
    ///
    /// # Errors
    ///
    /// Fails if the name of a section cannot be used.
    pub fn from_payload(payload: &Value) -> Result<Self, SectionNameError> {
        let text = |value: &Value, name: &str| {
            value[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let texts = |value: &Value| -> Vec<String> {
            let list = value.as_array().into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let list = |name: &str| payload[name].as_array().into_iter().flatten();
        let tool = |name: String| ToolPrompt {
            snippet: payload["toolSnippets"][&name].as_str().map(str::to_owned),
            guidelines: texts(&payload["toolGuidelines"][&name]),
            name,
        };
        let file = |file: &Value| ContextFile {
            path: file["path"].as_str().unwrap_or_default().into(),
            content: file["content"].as_str().unwrap_or_default().to_owned(),
        };
        let skill = |skill: &Value| {
            let path = PathBuf::from(skill["filePath"].as_str().unwrap_or_default());
            Skill {
                name: text(skill, "name").unwrap_or_default(),
                description: text(skill, "description").unwrap_or_default(),
                disable_model_invocation: skill["disableModelInvocation"] == true,
                source: SourceInfo::flag(&path),
                path,
            }
        };
        let sections = payload["sections"].as_object().into_iter().flatten();
        let sections = sections
            .filter_map(|(name, text)| Some((name, text.as_str()?)))
            .map(|(name, text)| Section::new(name, text));
        Ok(Self {
            custom_prompt: text(payload, "customPrompt"),
            tools: texts(&payload["selectedTools"]).into_iter().map(tool).collect(),
            guidelines: texts(&payload["promptGuidelines"]),
            append: text(payload, "appendSystemPrompt").into_iter().collect(),
            context_files: list("contextFiles").map(file).collect(),
            skills: list("skills").map(skill).collect(),
            cwd: payload["cwd"].as_str().unwrap_or_default().into(),
            sections: sections.collect::<Result<_, _>>()?,
        })
    }
}
