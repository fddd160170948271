//! Multi-communication-method layer: device per message, progress, waiting.
