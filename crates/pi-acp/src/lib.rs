//! The Agent Client Protocol: sessions of pi for editors and other agents.
