//! Messages of an agent: the roles that models understand, and custom ones of an application.
//!
//! Custom messages travel through the transcript unchanged and are left out of requests, unless
//! `convert_to_llm` converts them into messages that models understand.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::json::from_str_lossy;
use crate::{AssistantMessage, Extra, Message, SystemMessage, ToolResultMessage, UserMessage};

/// A message of the transcript.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentMessage {
    /// A message of a role that models understand.
    Llm(Message),
    /// A message of the application, with any role and fields, kept unchanged.
    Custom(Arc<Map<String, Value>>),
}

/// A message type of an application.
///
/// ```
/// use pi_protocol::{AgentMessage, CustomMessage};
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
    /// Converts a message of an application's own type, which must serialize to an object.
    pub fn custom<T: CustomMessage>(message: &T) -> Result<Self, serde_json::Error> {
        let Value::Object(fields) = serde_json::to_value(message)? else {
            return Err(serde_json::Error::custom("a custom message must be an object"));
        };
        let mut object = Map::new();
        object.insert("role".to_owned(), T::ROLE.into());
        object.extend(fields.into_iter().filter(|(name, _)| name != "role"));
        Ok(Self::Custom(Arc::new(object)))
    }

    /// Returns the message as an application's own type, if it has the role of that type.
    pub fn as_custom<T: CustomMessage>(&self) -> Option<T> {
        match self {
            Self::Custom(fields) if self.role() == T::ROLE => {
                serde_json::from_value(Value::Object((**fields).clone())).ok()
            }
            _ => None,
        }
    }

    /// Reads a message from its JSON text. Much cheaper than [`Deserialize`], which must collect the
    /// fields before it knows the role.
    ///
    /// A message of a known role in an unknown shape is kept as [`AgentMessage::Custom`].
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let known = role_of(text).and_then(|role| Message::from_json(&role, text));
        if let Some(message) = known {
            return Ok(Self::Llm(message));
        }
        from_str_lossy(text).map(|fields| Self::Custom(Arc::new(fields)))
    }

    /// Returns the value of `role`.
    pub fn role(&self) -> &str {
        match self {
            Self::Llm(Message::System(_)) => "system",
            Self::Llm(Message::User(_)) => "user",
            Self::Llm(Message::Assistant(_)) => "assistant",
            Self::Llm(Message::ToolResult(_)) => "toolResult",
            Self::Custom(fields) => fields.get("role").and_then(Value::as_str).unwrap_or_default(),
        }
    }

    /// Returns the message if the assistant wrote it.
    pub fn as_assistant(&self) -> Option<&Arc<AssistantMessage>> {
        match self {
            Self::Llm(Message::Assistant(message)) => Some(message),
            _ => None,
        }
    }
}

impl Message {
    /// Reads a message of a known role, without the detour of a tagged enum, which collects all
    /// fields before it looks at the tag.
    fn from_json(role: &str, text: &str) -> Option<Self> {
        fn read<T: DeserializeOwned>(
            text: &str,
            extra: fn(&mut T) -> &mut Extra,
        ) -> Option<Arc<T>> {
            let mut message: T = from_str_lossy(text).ok()?;
            let extra = extra(&mut message);
            extra.shift_remove("role");
            if extra.is_empty() {
                *extra = Extra::new();
            }
            Some(Arc::new(message))
        }
        match role {
            "system" => read(text, |m: &mut SystemMessage| &mut m.extra).map(Self::System),
            "user" => read(text, |m: &mut UserMessage| &mut m.extra).map(Self::User),
            "assistant" => read(text, |m: &mut AssistantMessage| &mut m.extra).map(Self::Assistant),
            "toolResult" => {
                read(text, |m: &mut ToolResultMessage| &mut m.extra).map(Self::ToolResult)
            }
            _ => None,
        }
    }
}

/// The role of the message in `text`, which is nearly always its first field.
fn role_of(text: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Peek<'a> {
        #[serde(borrow)]
        role: Cow<'a, str>,
    }
    let leading = text.strip_prefix("{\"role\":\"").and_then(|rest| rest.split_once('"'));
    match leading {
        Some((role, _)) => Some(Cow::Borrowed(role)),
        None => serde_json::from_str::<Peek<'_>>(text).ok().map(|peek| peek.role),
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
