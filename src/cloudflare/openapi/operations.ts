import * as api from '../wire/operations/index.ts';
import * as webhooks from '../wire/operations/webhooks.ts';
import * as a2a from '../wire/protocols/a2a/operations.ts';
import * as anthropic from '../wire/protocols/anthropic/operations.ts';
import * as embeddings from '../wire/protocols/embeddings/operations.ts';
import * as files from '../wire/protocols/files/operations.ts';
import * as openai from '../wire/protocols/openai/operations.ts';
import * as responses from '../wire/protocols/responses/operations.ts';

export const operations = {
	...api,
	...webhooks,
	...openai,
	...anthropic,
	...responses,
	...a2a,
	...files,
	...embeddings,
};
