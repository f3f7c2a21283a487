import { findObstacle, type ProviderRegistration, resolveRegistration } from '../../core/chat/index.ts';
import type { readiness } from '../wire/agent.ts';
import type { Shown } from '../wire/operation.ts';
import type { Agent } from './define.ts';

type ModelNeeds = Pick<Agent, 'maxContextTokens' | 'providerTools'>;

/** Describes whether a model is ready. If it is not, only an operator sees the reason and the variable to set. */
export async function describeModel(
	name: string,
	{ maxContextTokens, providerTools }: ModelNeeds,
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
