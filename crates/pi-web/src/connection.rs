//! A connection that is no longer HTTP.

use tokio::io::{AsyncRead, AsyncWrite};

/// A connection in both directions.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// The connection of a request that was upgraded.
pub type Upgraded = Box<dyn Connection>;
