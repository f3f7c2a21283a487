import { canTalk, type ProviderRegistration, resolveRegistration } from '../../core/chat/index.ts';
import type { readiness } from '../wire/agent.ts';
import type { Shown } from '../wire/shown.ts';

/**
 * Whether a model is ready, and whose it is; nobody's if no provider knows it. If it is not ready, `needs` is the variable
 * to set, if setting it helps.
 */
export function describeReadiness(name: string, providers: readonly ProviderRegistration[]): Shown<typeof readiness> {
	const found = resolveRegistration({ model: name, providers });
	const ready = found !== undefined && canTalk(found);
	return {
		name,
		...(found !== undefined && { provider: found.displayName }),
		ready,
		...(!ready && found?.needs !== undefined && { needs: found.needs }),
	};
}

/**
 * The same of a model of an agent, with what a request to it may have in tokens: what the agent allows, else what the model
 * can be sent.
 */
export async function describeModel(
	name: string,
	{ maxContextTokens }: { readonly maxContextTokens?: number },
	providers: readonly ProviderRegistration[],
): Promise<Shown<typeof readiness>> {
	const found = resolveRegistration({ model: name, providers });
	const contextWindow = maxContextTokens ?? (await found?.contextWindow?.(name));
	return { ...describeReadiness(name, providers), ...(contextWindow !== undefined && { contextWindow }) };
}
