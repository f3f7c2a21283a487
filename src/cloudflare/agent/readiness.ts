import { findObstacle, type ProviderRegistration, resolveRegistration } from '../../core/chat/index.ts';
import type { readiness } from '../wire/agent.ts';
import type { Shown } from '../wire/operation.ts';
import type { Agent } from './define.ts';

/** What decides whether a model of an agent is ready, and what a request to it may have. */
type Asking = Pick<Agent, 'maxContextTokens' | 'providerTools'>;

/**
 * Describes whether a model of an agent is ready, and whose it is. An operator also reads why it is not ready, and the
 * variable to set, if setting it helps.
 */
export async function describeModel(
	name: string,
	{ maxContextTokens, providerTools }: Asking,
	{ providers, isOperator }: { readonly providers: readonly ProviderRegistration[]; readonly isOperator: boolean },
): Promise<Shown<typeof readiness>> {
	const found = resolveRegistration({ model: name, providers });
	const obstacle = findObstacle({ model: name, providers, providerTools });
	const contextWindow = maxContextTokens ?? (await found?.contextWindow?.(name));
	const why = isOperator ? obstacle : undefined;
	return {
		name,
		...(found !== undefined && { provider: found.displayName }),
		ready: obstacle === undefined,
		...(why !== undefined && { problem: why.message }),
		...(typeof why?.data?.needs === 'string' && { needs: why.data.needs }),
		...(contextWindow !== undefined && { contextWindow }),
	};
}
