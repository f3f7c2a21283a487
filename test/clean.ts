/** Each file in workerd begins with nothing that another one has stored or left behind. */
import { reset } from 'cloudflare:test';
import { beforeAll } from 'vitest';

beforeAll(reset);
