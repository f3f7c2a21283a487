/** The operations of the typed client. */
export * from './agents.ts';
export * from './agui.ts';
export * from './files.ts';
export * from './keys.ts';
export * from './links.ts';
export * from './mcp.ts';
export * from './memories.ts';
export * from './messages.ts';
export * from './schedules.ts';
export * from './service.ts';
export * from './sessions.ts';
export * from './skills.ts';
export * from './tools.ts';
export * from './ui.ts';
export * from './users.ts';
