/** The exports of `runlet/cloudflare`: Runlet as a Worker on Cloudflare, or as a part of a Worker. */

// `export *` lets a project extend the interface: `declare module 'runlet/cloudflare' { interface Env { … } }`.
export * from '../../core/base/env.ts';
export { type A2aToolOptions, a2aTool } from '../agent/a2a/tool.ts';
export { type AgentToolOptions, agentTool, spawn } from '../agent/agent-tool.ts';
export type { ApprovalRequest, Approvers } from '../agent/approvers.ts';
export { type Agent, type AgentDefinition, defineAgent } from '../agent/define.ts';
export type { SkillReader, SkillSource } from '../agent/skill-source.ts';
export type { WebhookMapping, WebhookMappings, WebhookMessage, WebhookOptions } from '../agent/webhook-mapping.ts';
export { findKey } from '../auth/find-key.ts';
export type { Account, Authenticate } from '../auth/identity.ts';
export { createKey, formatKeys, type KeyOptions, type KeyRecord, type NewKey, parseKeys } from '../auth/key.ts';
export type { Role } from '../auth/rights.ts';
export type { SpendingAlert } from '../objects/ledger/spending-alert.ts';
export { publishSkills, type SkillTexts } from '../objects/publisher/api.ts';
export { commentMark, type WebhookEvent } from '../wire/protocols/webhooks/index.ts';
export { createRunlet, type ObjectClass, type Runlet } from './create.ts';
export type { RunletOptions } from './options.ts';
export type { OnSpending } from './spending.ts';
export {
	type CompletionResponseOptions,
	toCompletionResponse,
	toUiResponse,
	type UiResponseOptions,
} from './translate.ts';
export { type VerifyWebhookOptions, verifyWebhook } from './webhook.ts';
