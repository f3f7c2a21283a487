import { RunletError } from '../../base/errors.ts';
import type { ProviderTool } from '../../chat/provider-tool.ts';
import type { Units } from '../../chat/usage.ts';
import type { ToolForProvider } from '../../tool/index.ts';
import { getObjects, type Json } from './json.ts';
import type { Terms } from './reply.ts';

/** Creates the error for a provider tool that a provider does not have. */
export function createNoTool(
	provider: string,
	type: string,
	remedy = 'Leave it out, or choose a model of another provider',
): RunletError {
	return new RunletError('invalid_request', `providerTools: ${provider} has no ${type}. ${remedy}.`, {
		field: 'providerTools',
		provider,
	});
}

/** Throws `invalid_request` if a tool has domains that the provider cannot limit it to. */
export function assertNoDomains(provider: string, tool: ProviderTool): void {
	const fields = ['allowedDomains', 'blockedDomains'] as const;
	const field = fields.find((name) => tool[name] !== undefined);
	if (field !== undefined) throw createNoTool(provider, `${field} for ${tool.type}`);
}

/** Converts the provider settings of a tool to fields of Anthropic's and OpenAI's APIs. */
export function toToolFields({ strict, deferLoading, allowedCallers }: ToolForProvider): Json {
	return {
		...(strict !== undefined && { strict }),
		...(deferLoading !== undefined && { defer_loading: deferLoading }),
		...(allowedCallers !== undefined && { allowed_callers: allowedCallers }),
	};
}

/** The most that a request may bill besides its tokens and the reply. */
export interface Foreseen extends Terms {
	readonly units?: Units;
	/** The uses of the provider's own tools. After each use the model reads everything again. */
	readonly uses?: number;
	/** The further texts that the model may write, each as long as the reply. */
	readonly texts?: number;
}

/** The tokens that a use of a provider's tool may add to the input: a page of search results, a fetched page. */
const tokensOfUse = 10_000;

/** Counts the most tokens of input: each use of a tool reads the input and the results of all uses before it again. */
export function countMostInput(inputTokens: number, uses: number): number {
	return inputTokens * (uses + 1) + (tokensOfUse * uses * (uses + 1)) / 2;
}

/** Returns the tools of a body with their types. */
export function listToolTypes(body: Json): readonly { readonly type: string; readonly tool: Json }[] {
	return getObjects(body, 'tools').flatMap((tool) =>
		typeof tool.type === 'string' ? [{ type: tool.type, tool }] : [],
	);
}
