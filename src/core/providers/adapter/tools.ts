import { RunletError } from '../../base/errors.ts';
import type { ProviderTool } from '../../chat/provider-tool.ts';
import type { ToolForProvider } from '../../tool/index.ts';
import type { Json } from './json.ts';

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

/**
 * Throws `invalid_request` for domains of a tool that cannot be limited to them. Nobody would notice that a limit is left
 * out.
 */
export function assertNoDomains(provider: string, tool: ProviderTool, fields = domainFields): void {
	const given = fields.find((field) => tool[field] !== undefined);
	if (given === undefined) return;
	throw new RunletError(
		'invalid_request',
		`providerTools: ${provider} has no ${given} for ${tool.type}. Leave it out, or choose a model of another provider.`,
		{ field: 'providerTools', provider },
	);
}

const domainFields: readonly ('allowedDomains' | 'blockedDomains')[] = ['allowedDomains', 'blockedDomains'];

/** Converts what a provider is told about a tool to the fields of Anthropic's and OpenAI's APIs. */
export function toToolFields({ strict, deferLoading, allowedCallers }: ToolForProvider): Json {
	return {
		...(strict !== undefined && { strict }),
		...(deferLoading !== undefined && { defer_loading: deferLoading }),
		...(allowedCallers !== undefined && { allowed_callers: allowedCallers }),
	};
}
