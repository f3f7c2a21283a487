/** The namespace `providers`. Each function returns a `ProviderRegistration`. */

export type { ProviderSettings } from './adapter/settings.ts';
export { type AnthropicSettings, anthropic } from './anthropic.ts';
export { deepseek, groq, mistral, ollama } from './compatible.ts';
export { type DemoOptions, demo } from './demo.ts';
export { type GeminiSettings, gemini } from './gemini.ts';
export { type OpenAISettings, openai, xai } from './openai.ts';
export { type ChatQuirks, type OpenAIChatSettings, openaiChat } from './openai-chat.ts';
export {
	type ScriptedFn,
	type ScriptedProvider,
	type ScriptedReply,
	type ScriptedRequest,
	type ScriptedTurn,
	scripted,
} from './scripted.ts';
export { type AiBinding, type WorkersAiSettings, workersAi } from './workers-ai.ts';
