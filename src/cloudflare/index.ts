/** What `import … from 'runlet/cloudflare'` gives: Runlet as a Worker on Cloudflare, or as a part of one. */

// By `*`, so that a project can add to the interface: `declare module 'runlet/cloudflare' { interface Env { … } }`.
export * from '../core/tool/env.ts';
export { type Agent, type AgentDefinition, defineAgent } from './agent/define.ts';
export { createRunlet, type ObjectClass, type Runlet } from './runlet/create.ts';
export type { RunletOptions } from './runlet/options.ts';
export type {
	WebhookEvent,
	WebhookMapping,
	WebhookMappings,
	WebhookMessage,
	WebhookOptions,
} from './webhooks/index.ts';
export { commentMark } from './webhooks/index.ts';
