import type { ProviderRegistration } from '../src/core/chat/index.ts';
import { type ScriptedProvider, type ScriptedTurn, scripted } from '../src/core/providers/index.ts';

let current: ScriptedProvider = scripted([]);

/** Sets what the model `scripted` answers next, in the Worker under test; gives the provider with its `requests`. */
export function play(...turns: readonly ScriptedTurn[]): ScriptedProvider {
	current = scripted(turns);
	return current;
}

/** The provider of the Worker under test: whatever script is set when it is asked. */
export const scriptedProvider: ProviderRegistration = {
	variant: 'scripted',
	displayName: 'Scripted',
	detect: (model) => model.startsWith('scripted'),
	// A dollar for a thousand tokens; one of its models has no price.
	computePrice: (model, { inputTokens = 0, outputTokens = 0 }) =>
		model === 'scripted-unpriced' ? undefined : (inputTokens + outputTokens) / 1_000,
	chatStreamFn: (...request) => current.chatStreamFn?.(...request),
};
