/** The namespace `chat`: messages, providers and the loop that runs an agent. */

export { filePart, flattenParts, imagePart, type MessagePart, renderPart, textPart } from '../base/part.ts';
export { type NamedSecret, type Needles, prepareSecrets } from '../base/secrets.ts';
export { cutOutput } from './conversation.ts';
export { embed } from './embed.ts';
export {
	type BudgetParts,
	type ContextBudget,
	checkBudget,
	countTokensHeuristic,
	estimateSystemTokens,
	estimateToolsTokens,
	formatBudgetBreakdown,
} from './estimate.ts';
export type {
	AnswerTo,
	CallEdit,
	LoopEvent,
	Question,
	RunEvent,
	SideEvent,
	Step,
	TerminalEvent,
	WaitingCall,
} from './event.ts';
export type { Fence } from './fence.ts';
export type { CallSecrets, CheckFlow, FlowDecision, FlowReason, FlowSource, Labels } from './flow.ts';
export type { RunResult } from './loop.ts';
export {
	type AssistantMessage,
	assistantMessage,
	type Message,
	messageText,
	type SystemMessage,
	type ToolMessage,
	toolResultMessage,
	type UserMessage,
	userMessage,
} from './message.ts';
export type { HiddenCost, Meter, MeteredRequest } from './meter.ts';
export type {
	ChatOptions,
	MessageContext,
	OpenCallState,
	RunContext,
	SystemContext,
	SystemPrompt,
	Turn,
} from './options.ts';
export type {
	BegunReply,
	CallEstimate,
	CallOptions,
	ChatFn,
	ChatStreamFn,
	EmbedFn,
	ModelPrice,
	ModelPrices,
	MostCost,
	Parking,
	PriceOf,
	PromptCache,
	Provider,
	ProviderMeta,
	ProviderRegistration,
	ReasoningEffort,
	Timeouts,
	ToolChoice,
} from './provider.ts';
export type {
	ProviderCall,
	ProviderChoices,
	ProviderContext,
	ProviderTool,
	ProviderToolType,
	Source,
} from './provider-tool.ts';
export type { Recalled } from './recall.ts';
export {
	builtinProviders,
	detectProvider,
	detectProviderFrom,
	dispatchChat,
	dispatchChatStream,
	findObstacle,
	noopOnDelta,
	prefixDetector,
	providerName,
	resolveRegistration,
	withProviders,
} from './registry.ts';
export type {
	ChatReply,
	KnownDelta,
	OnDelta,
	ReplyDelta,
	ReplyDeltas,
	StopReason,
	StreamStop,
	UnknownDelta,
} from './reply.ts';
export { addUsage, type ChatUsage, makeUsage, type Units } from './reply.ts';
export { type Run, run, runLoop, runLoopMessages, runLoopStream, runLoopStreamMessages } from './run.ts';
