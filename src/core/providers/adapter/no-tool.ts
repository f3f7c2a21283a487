import { RunletError } from '../../ground/errors.ts';

/** Creates the error for a provider tool that a provider does not have. */
export function createNoTool(
	provider: string,
	type: string,
	remedy = 'Leave it out, or choose a model of another provider',
): RunletError {
	return new RunletError('invalid_request', `providerTools: ${provider} has no ${type}. ${remedy}.`, {
		field: 'providerTools',
	});
}
