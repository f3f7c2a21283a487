import { RunletError, toErrorBody } from '../../core/ground/errors.ts';
import { getHealth } from '../wire/operations/service.ts';
import { assertMayLook } from './identity.ts';
import { mount } from './mount.ts';
import { type Checked, findProblems } from './problems.ts';

/** `/healthz`: answers that the Worker runs. With `?deep` it also checks the setup. */
export function createHealthRoutes(runtime: Checked) {
	return [
		mount(getHealth, async (c) => {
			if (c.req.valid('query').deep === undefined) return c.json({ status: 'ok' as const });
			await assertMayLook(c);
			// The dry run of a deployment runs the Worker on this machine.
			const isDeployed = c.req.valid('query').deep === 'deployed';
			const problems = await findProblems(runtime, c.env, { isDeployed });
			c.header('cache-control', 'no-store');
			if (problems.length === 0) return c.json({ status: 'ok' as const, problems });
			const message = problems.map((problem) => `${problem.where}: ${problem.message}`).join(' ');
			const error = new RunletError('not_configured', message);
			return c.json({ ...toErrorBody(error), status: 'problems' as const, problems }, 503);
		}),
	];
}
