//! Messages of an agent: those a model understands, and any others an application needs.
//!
//! Other messages travel through the transcript untouched and are left out at the request, unless
//! `convert_to_llm` turns them into something a model understands.

use std::sync::Arc;

use pi_protocol::{AssistantMessage, Message};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// A message of the transcript.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentMessage {
    /// One that models understand.
    Llm(Message),
    /// One of the application: any role, any fields, kept as they are.
    Custom(Arc<Map<String, Value>>),
}

/// A message type of an application.
///
/// ```
/// use pi_agent::{AgentMessage, CustomMessage};
///
/// #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
/// struct Notice { text: String }
///
/// impl CustomMessage for Notice {
///     const ROLE: &'static str = "notice";
/// }
///
/// let message = AgentMessage::custom(&Notice { text: "saved".into() }).unwrap();
/// assert_eq!(message.role(), "notice");
/// assert_eq!(message.as_custom::<Notice>(), Some(Notice { text: "saved".into() }));
/// ```
pub trait CustomMessage: Serialize + DeserializeOwned {
    /// The role that marks messages of this type.
    const ROLE: &'static str;
}

/// The roles of the messages that models understand.
const LLM_ROLES: &[&str] = &["system", "user", "assistant", "toolResult"];

impl AgentMessage {
    /// A message of an application's own type, which must serialize to an object.
    pub fn custom<T: CustomMessage>(message: &T) -> Result<Self, serde_json::Error> {
        let Value::Object(fields) = serde_json::to_value(message)? else {
            return Err(serde_json::Error::custom("a custom message must be an object"));
        };
        let mut object = Map::new();
        object.insert("role".to_owned(), T::ROLE.into());
        object.extend(fields.into_iter().filter(|(name, _)| name != "role"));
        Ok(Self::Custom(Arc::new(object)))
    }

    /// The message as an application's own type, if it is one.
    pub fn as_custom<T: CustomMessage>(&self) -> Option<T> {
        match self {
            Self::Custom(fields) if self.role() == T::ROLE => {
                serde_json::from_value(Value::Object((**fields).clone())).ok()
            }
            _ => None,
        }
    }

    /// The role.
    pub fn role(&self) -> &str {
        match self {
            Self::Llm(Message::System(_)) => "system",
            Self::Llm(Message::User(_)) => "user",
            Self::Llm(Message::Assistant(_)) => "assistant",
            Self::Llm(Message::ToolResult(_)) => "toolResult",
            Self::Custom(fields) => fields.get("role").and_then(Value::as_str).unwrap_or_default(),
        }
    }

    /// The assistant's message, if it is one.
    pub fn as_assistant(&self) -> Option<&Arc<AssistantMessage>> {
        match self {
            Self::Llm(Message::Assistant(message)) => Some(message),
            _ => None,
        }
    }
}

impl From<Message> for AgentMessage {
    fn from(message: Message) -> Self {
        Self::Llm(message)
    }
}

impl Serialize for AgentMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Llm(message) => message.serialize(serializer),
            Self::Custom(fields) => fields.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for AgentMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Map::deserialize(deserializer)?;
        let role = fields.get("role").and_then(Value::as_str);
        if role.is_some_and(|role| LLM_ROLES.contains(&role)) {
            let message = Message::deserialize(Value::Object(fields)).map_err(D::Error::custom)?;
            return Ok(Self::Llm(message));
        }
        Ok(Self::Custom(Arc::new(fields)))
    }
}
