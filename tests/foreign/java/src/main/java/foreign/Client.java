package foreign;

import com.google.api.gax.rpc.AlreadyExistsException;
import com.google.cloud.spanner.DatabaseId;
import com.google.cloud.spanner.Spanner;
import com.google.cloud.spanner.SpannerOptions;
import com.google.cloud.spanner.admin.database.v1.DatabaseAdminClient;
import com.google.cloud.spanner.admin.instance.v1.InstanceAdminClient;
import com.google.spanner.admin.database.v1.CreateDatabaseRequest;
import com.google.spanner.admin.database.v1.DatabaseDialect;
import com.google.spanner.admin.database.v1.DatabaseName;
import com.google.spanner.admin.instance.v1.Instance;
import com.google.spanner.admin.instance.v1.InstanceConfigName;
import com.google.spanner.admin.instance.v1.InstanceName;
import com.google.spanner.admin.instance.v1.ProjectName;
import java.util.UUID;
import java.util.concurrent.ExecutionException;

/** The official client, which makes its own instance and databases. */
final class Client implements AutoCloseable {
  private static final String PROJECT = "foreign";
  private static final String INSTANCE = "java-client";

  private final Spanner spanner = SpannerOptions.newBuilder().setProjectId(PROJECT).build().getService();
  private final DatabaseAdminClient admin = spanner.createDatabaseAdminClient();
  private final Statements statements;
  private final boolean postgresql;

  Client(Statements statements, boolean postgresql) throws Exception {
    this.statements = statements;
    this.postgresql = postgresql;
    ensureInstance();
  }

  private void ensureInstance() throws Exception {
    Instance instance =
        Instance.newBuilder()
            .setConfig(InstanceConfigName.of(PROJECT, "emulator-config").toString())
            .setDisplayName("Java client")
            .setNodeCount(1)
            .build();
    try (InstanceAdminClient instances = spanner.createInstanceAdminClient()) {
      instances.createInstanceAsync(ProjectName.of(PROJECT), INSTANCE, instance).get();
    } catch (ExecutionException error) {
      if (!(error.getCause() instanceof AlreadyExistsException)) {
        throw error;
      }
    }
  }

  /** Creates a database with the table and the queues of the scenarios. */
  Database freshDatabase() throws Exception {
    String id = "db-" + UUID.randomUUID().toString().substring(24);
    String quote = postgresql ? "\"" : "`";
    CreateDatabaseRequest.Builder request =
        CreateDatabaseRequest.newBuilder()
            .setParent(InstanceName.of(PROJECT, INSTANCE).toString())
            .setCreateStatement("CREATE DATABASE " + quote + id + quote)
            .addAllExtraStatements(statements.list("create"));
    if (postgresql) {
      request.setDatabaseDialect(DatabaseDialect.POSTGRESQL);
    }
    admin.createDatabaseAsync(request.build()).get();
    DatabaseName name = DatabaseName.of(PROJECT, INSTANCE, id);
    admin.updateDatabaseDdlAsync(name, statements.list("update")).get();
    return new Database(
        statements,
        postgresql,
        spanner.getDatabaseClient(DatabaseId.of(PROJECT, INSTANCE, id)),
        () -> admin.getDatabaseDdl(name).getStatementsList());
  }

  @Override
  public void close() {
    admin.close();
    spanner.close();
  }
}
