/** The loop by hand in a plain Worker. */
import { type HandEnv, streamRun } from './hand-written.ts';

export default {
	fetch: async (request: Request, env: HandEnv): Promise<Response> =>
		streamRun({ env, messages: [{ role: 'user', content: await request.text() }] }),
};
